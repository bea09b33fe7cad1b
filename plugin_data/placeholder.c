/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the place of this layer until its first real file lands.
 */
typedef int tbp_plugin_data_placeholder;
