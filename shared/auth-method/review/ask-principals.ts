import type { AskAws, MountCall } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { IamPrincipal } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { createPrincipalQuestion } from '../roles/resolve.ts'
import type { BoundPrincipal } from './bound-principals.ts'
import { listNames } from './rules.ts'

/** IAM's answers by ARN. `principal` is absent if IAM has no such principal. */
export interface PrincipalAnswers {
  answers: ReadonlyMap<string, { principal?: IamPrincipal }>
  /** why IAM has not answered about every principal; absent: it has */
  gap?: string
}

/**
 * Asks IAM about principals, one call for each. After a failure the other principals of the same account are left
 * out, so a throttled account gets no more calls.
 */
export async function askAboutPrincipals(
  call: MountCall,
  principals: readonly BoundPrincipal[],
  ask: AskAws,
): Promise<PrincipalAnswers> {
  const { accessor } = call.mount
  const asked = principals.flatMap(({ arn }) => {
    const entity = parseIamEntity(arn)
    return entity && entity.type !== 'assumed-role' ? [{ arn, entity }] : []
  })
  const accounts = [...new Set(asked.map(({ entity }) => entity.account))]
  const [client, ...roles] = await call.ports.store.read([
    key('client-config', accessor),
    ...accounts.map(account => key('sts-role', accessor, account)),
  ])
  const answers = new Map<string, { principal?: IamPrincipal }>()
  const faults = new Map<string, string>()
  for (const { arn, entity } of asked) {
    if (faults.has(entity.account)) continue
    const items = { client, sts: roles[accounts.indexOf(entity.account)] }
    const answer = await answerOf(call, () => ask(createPrincipalQuestion(call, entity, items)))
    if (answer.ok) answers.set(arn, answer.value)
    else faults.set(entity.account, answer.fault)
  }
  if (faults.size === 0) return { answers }
  const reasons = [...faults].map(([account, fault]) => `account ${account}: ${fault}`)
  const left = asked.length - answers.size
  return { answers, gap: `IAM did not answer about ${left} principals; ${listNames(reasons)}` }
}

async function answerOf(
  { ports: { clock }, request: { deadline } }: MountCall,
  ask: () => Promise<IamPrincipal | undefined>,
): Promise<Result<{ principal?: IamPrincipal }, string>> {
  if (clock.now() >= deadline) return failed('the time was up')
  try {
    const principal = await ask()
    return ok(principal ? { principal } : {})
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'internal') throw error
    return failed(error.message)
  }
}
