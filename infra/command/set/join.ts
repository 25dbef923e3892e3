/** A request below `sys/replication/dr` to one of two clusters, which has to succeed. @returns the `data` of its answer */
export type AskOneOf = (
  which: 'follower' | 'primary',
  path: string,
  body: object,
) => Promise<Readonly<Record<string, unknown>>>

/**
 * Has a cluster that has all data of its set follow the primary: nothing is wiped, and no shares are needed.
 * @param id a name at the primary; an earlier admission under it ends
 * @param token an operation token
 */
export async function joinUnder(id: string, token: string, ask: AskOneOf): Promise<void> {
  const { secondary_public_key } = await ask('follower', 'secondary/generate-public-key', {
    dr_operation_token: token,
  })
  const made = await ask('primary', 'primary/secondary-token', {
    id,
    secondary_public_key,
    replace: true,
  })
  await ask('follower', 'secondary/update-primary', { dr_operation_token: token, token: made['token'] })
}

/**
 * Returns the name under which a cluster is admitted, and the names of earlier tries, which are revoked before: what comes
 * late of such a try must not meet the name of this one.
 * @param name the cluster's own
 * @param known names at the primary
 */
export function namesToJoin(
  name: string,
  known: readonly string[],
): { id: string; freed: readonly string[] } {
  const numbers = known.flatMap(one => {
    if (one === name) return [1]
    const number = one.startsWith(`${name}-`) ? one.slice(name.length + 1) : ''
    return /^[1-9]\d{0,8}$/.test(number) ? [Number(number)] : []
  })
  const freed = known.filter(one => one === name || numbers.some(number => one === `${name}-${number}`))
  const id = numbers.length === 0 ? name : `${name}-${Math.max(...numbers) + 1}`
  return { id, freed }
}
