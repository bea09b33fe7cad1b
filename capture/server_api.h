/* SPDX-License-Identifier: Apache-2.0
 *
 * The server that the environment asks for. Called when the library is loaded.
 */
#ifndef TBP_CAPTURE_SERVER_API_H
#define TBP_CAPTURE_SERVER_API_H

void tbp_server_autostart(void); /* TBPROF_SERVER=PORT; nothing without */

#endif
