/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole module system of the local charts: a module names the modules it needs, which must
 * already be there, so the order of manifest.txt is checked every time the bundle runs.
 * The bundle is one function around all files; `tbc` is a local name of that function.
 */
var tbc = (function () {
  const modules = Object.create(null);
  function get(name) {
    if (!(name in modules)) throw new Error('charts: module "' + name + '" is not defined yet');
    return modules[name];
  }
  function define(name, needs, factory) {
    if (name in modules) throw new Error('charts: module "' + name + '" is defined twice');
    modules[name] = factory.apply(null, needs.map(get));
  }
  return { define: define, get: get };
})();
