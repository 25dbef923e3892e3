/** The rights of every token, unless its role excludes `default`. Administrators may replace the policy. */
export const DEFAULT_POLICY_HCL = `# A token looks after itself.
path "auth/token/lookup-self" { capabilities = ["read"] }
path "auth/token/renew-self"  { capabilities = ["update"] }
path "auth/token/revoke-self" { capabilities = ["update"] }

# What may I do?
path "sys/capabilities-self"         { capabilities = ["update"] }
path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }

# Wrapped answers
path "sys/wrapping/wrap"   { capabilities = ["update"] }
path "sys/wrapping/lookup" { capabilities = ["update"] }
path "sys/wrapping/unwrap" { capabilities = ["update"] }
`

/** Policies that exist without being stored. `root` has no text, because it is not a set of rules. */
export const builtInPolicies: ReadonlyMap<string, string> = new Map([
  ['root', ''],
  ['default', DEFAULT_POLICY_HCL],
])
