/*
 * What a run of the foreign fuzzer never sends, by the name of the operation, and why. It plays an administrator, and
 * what ends its own subject would have it look at nothing from then on. All of these are fuzzed by our own tests, where
 * a set is put up again behind each request, or a token made anew (`test/integration/alone/contract/`).
 */
export const leftOut: Readonly<Record<string, string>> = {
  demotePrimary: 'the cluster would serve nobody any more',
  disablePrimary: 'while the role changes nothing is served',
  enablePrimary: 'while the role changes nothing is served',
  becomeSecondary: 'the cluster would lose what it has',
  promoteSecondary: 'it is for a secondary, and changes its role',
  disableSecondary: 'it is for a secondary, and changes its role',
  updatePrimary: 'it is for a secondary, and changes its role',
  initialise: 'it is refused ever after',
  rotate: 'each success adds a term to the keyring for good',
  rotate_also: 'the same',
  revokeOwnToken: 'the token of the run would end',
  revokeToken: 'it may be told the token that others are made from',
  revokeTokenButNotChildren: 'the same',
  revokeAccessor: 'it may be told the accessor of that token',
}

/** Checks that the interface does not promise to pass. */
const uncheckedBy: Readonly<Record<string, string>> = {
  positive_data_acceptance:
    'rules beyond the schema refuse much that the schema allows: a role has to bind something',
  negative_data_rejection:
    'fields are lenient, as clients of the incumbent need it: numbers and booleans may be texts',
  unsupported_method: 'PUT is POST, and PATCH is refused by its content type first',
  allow_header_conformance: 'the same',
  missing_required_header: 'no header is required but a token, which ignored_auth looks at',
  ensure_resource_availability: 'a write may be refused, and several names may be one thing',
  use_after_free: 'what names in paths stand for is written again on purpose',
}

/** Names in paths that are there (`subject.ts`): most requests take them, the others any. */
const names: Readonly<Record<string, readonly string[]>> = {
  mount: ['cloud'],
  role: ['web'],
  account_id: ['111122223333'],
  role_name: ['web'],
  policy_name: ['web', 'default'],
  method_path: ['cloud', 'token'],
}

/** The settings of the fuzzer, as its file has them. */
export const settingsText = (): string =>
  [
    '[checks]',
    // what AWS answers to what was configured is 502, what waits for others 503, and health has statuses of its own
    'not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501", "502", "503"]',
    ...Object.keys(uncheckedBy).map(name => `${name}.enabled = false`),
    ...Object.entries(names).map(
      ([name, values]) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}`,
    ),
    '[parameters]',
    ...Object.keys(names).map(name => `"path.${name}" = { dictionary = "${name}", probability = 0.7 }`),
    '[phases.coverage]',
    'unexpected-methods = []',
    ...Object.keys(leftOut).flatMap(name => [
      '[[operations]]',
      `include-operation-id = "${name}"`,
      'enabled = false',
    ]),
    // callers choose the status of health
    ...['readHealth', 'readHealth_head'].flatMap(name => [
      '[[operations]]',
      `include-operation-id = "${name}"`,
      'checks.not_a_server_error.enabled = false',
    ]),
    '',
  ].join('\n')
