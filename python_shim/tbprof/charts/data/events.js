/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.events: listeners of any object, kept beside it and gone with it.
 */
tbc.define('events', [], function () {
  const listeners = new WeakMap();

  function listOf(source, name) {
    if (!listeners.has(source)) listeners.set(source, new Map());
    const names = listeners.get(source);
    if (!names.has(name)) names.set(name, []);
    return names.get(name);
  }

  function addListener(source, name, call) {
    const handle = { source: source, name: name, call: call };
    listOf(source, name).push(handle);
    return handle;
  }

  function addOneTimeListener(source, name, call) {
    const handle = addListener(source, name, (event) => {
      removeListener(handle);
      call(event);
    });
    return handle;
  }

  function removeListener(handle) {
    if (!handle) return false;
    const list = listOf(handle.source, handle.name);
    const at = list.indexOf(handle);
    if (at >= 0) list.splice(at, 1);
    return at >= 0;
  }

  function removeAllListeners(source) {
    listeners.delete(source);
  }

  function trigger(source, name, event) {
    for (const handle of listOf(source, name).slice())
      handle.call(event === undefined ? {} : event);
  }

  return { addListener, addOneTimeListener, removeListener, removeAllListeners, trigger };
});
