import { isObject, parseJson } from '../values/json.ts'
import { readShape } from '../values/read-shape.ts'
import { anyShape, objectShape, textShape } from '../values/shape.ts'
import { clipText } from '../values/words.ts'
import { formatCheckValue } from './explained.ts'

/** A refused login, as its audit entry tells it. Texts are cleaned and cut. */
export interface RefusedLogin {
  sentence: string
  advice: string
  /** `why`: stable name of the violated rule */
  why: string
  check: string
  seen: string
  /** text that the client got */
  message: string
  path: string
  role: string
  time: string
  requestId: string
}

/** Longest pasted text; an audit entry has at most 32 KiB. */
const LONGEST_PASTE = 100_000

const entryShape = objectShape(
  {},
  {
    audit: textShape,
    time: textShape,
    error: textShape,
    message: textShape,
    reason: anyShape,
    request: objectShape({}, { id: textShape, path: textShape, data: anyShape }),
  },
)

/** Tasks of an administrator, by the violated rule. The first row whose pattern matches applies. */
const advices: readonly (readonly [rule: RegExp, advice: string])[] = [
  [/^no-role$/, 'Write the role, or correct the name of the role in the login.'],
  [/^not-bound_/, 'If the workload should log in, add the seen value to this field of the role.'],
  [
    /^principal-not-bound$/,
    'If the principal should log in, add its ARN to bound_iam_principal_arn of the role.',
  ],
  [/^principal-type$/, 'Log in with an IAM user or an assumed role.'],
  [
    /^(principal|instance)-lookup$/,
    'Check that the mount’s credentials may call AWS, and that the principal or instance exists.',
  ],
  [
    /^instance-(not-running|ended)$/,
    'Check that the instance runs, in the account and region that the mount asks.',
  ],
  [/^(session-not|no)-instance$/, 'Log in from the instance itself, or change the role.'],
  [
    /^(role-type|role-required|instance-identity-role)$/,
    'Log in by the type of the role, or use another role.',
  ],
  [/^organization-stale$/, 'Read last_error of config/organization, and mend what failed.'],
  [/^root-policy$/, 'Remove the policy root from the role.'],
  [/^no-alias$/, 'Change the alias in config/identity, or send a login that has the value.'],
  [/^source-address$/, 'Log in from an admitted network, or change token_bound_cidrs of the role.'],
  [/^entity-disabled$/, 'Enable the entity, if it should log in.'],
  [
    /^(nonce-|reauthentication-|document-older|entry-damaged)/,
    'Send the nonce of the first login. If the nonce is lost, delete the instance’s entry of the access list.',
  ],
  [/^server-id-/, 'Sign the header X-Vault-AWS-IAM-Server-ID with the value of the mount’s configuration.'],
  [/^sts-region$|^sts-partition$|^sts-host$/, 'Sign the login for the STS endpoint that the mount expects.'],
  [/^sts-refused$/, 'Check the workload’s credentials and clock. A login is valid for 15 minutes.'],
  [
    /^(sts-answer|throttled|timeout|provider-failed)$/,
    'An AWS service failed. Try again, and look at the AWS Health Dashboard.',
  ],
  [/^(header|query)-/, 'Send the request as the AWS SDK signed it, without other headers or parameters.'],
  [
    /^(proof|identity|signature|document)|signed/,
    'Send the identity document and its signature exactly as the metadata service returns them.',
  ],
  [/^jwt-(expired|age|future|replayed)$/, 'Ask AWS for a new token. If this repeats, check the clock.'],
  [/^jwt-audience$/, 'Ask AWS for a token with the audience of the mount’s jwt configuration.'],
  [
    /^jwt-keys-|^jwt-learning-/,
    'The keys of the issuer cannot be read. Try again, and check the network to it.',
  ],
  [
    /^jwt-(issuer|account|organization|subject|not-configured)/,
    'Check which accounts and organizations the mount’s jwt configuration trusts.',
  ],
  [/^jwt-/, 'Send the token exactly as AWS returned it.'],
  [/^claims-too-large$/, 'Bind fewer tags in the role, or let it give batch tokens.'],
  [/^no-session-end$/, 'Log in from a role session that has an end, or change the role.'],
  [/^maximum-lifetime$/, 'Log in again, because the token has reached its maximum lifetime.'],
]
const ELSE = 'Send the login itself to the form below: it lists every check.'
const NO_LOGIN = 'This request was no login. The rule says what the token lacked.'

/**
 * Reads the audit entry of a refused login, as it was pasted: the line of a file, an event of CloudWatch Logs, or JSON
 * over several lines.
 */
export function readAuditEntry(text: string): RefusedLogin | { fault: string } {
  if (text.length > LONGEST_PASTE)
    return { fault: `The text is too long: at most ${LONGEST_PASTE} characters.` }
  const entry = findEntry(parseJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)))
  if (!entry) return { fault: 'The text contains no audit entry. Paste the whole line, from { to }.' }
  const {
    audit,
    time = '',
    error = '',
    message = '',
    reason,
    request = {},
  } = readShape(entryShape, entry).fields
  if (audit === 'request' && error === '')
    return { fault: 'This entry was written before the request. Paste the entry with "audit": "response".' }
  if (error === '') return { fault: 'This request was not refused.' }
  const { why, check, seen, ...more } = isObject(reason) ? reason : {}
  const rule = clipText(formatCheckValue(why) || error, 64)
  const data = isObject(request.data) ? request.data : {}
  const role = clipText(formatCheckValue(data['role']), 200)
  const path = clipText(request.path ?? '', 200)
  return {
    sentence: `The rule ${rule} refused the request to ${path || 'an unknown path'}${role === '' ? '' : ` with the role ${role}`}.`,
    advice:
      advices.find(([pattern]) => pattern.test(rule))?.[1] ?? (path.endsWith('/login') ? ELSE : NO_LOGIN),
    why: rule,
    check: clipText(formatCheckValue(check), 64),
    seen: clipText(
      formatCheckValue(seen) || (Object.keys(more).length > 0 ? formatCheckValue(more) : ''),
      2000,
    ),
    message: clipText(message),
    path,
    role,
    time: clipText(time, 64),
    requestId: clipText(request.id ?? '', 128),
  }
}

/** Finds the entry in an event of CloudWatch Logs, whose `message` is the entry, or a text with the entry. */
function findEntry(value: unknown, depth = 0): Readonly<Record<string, unknown>> | undefined {
  if (typeof value === 'string') return depth > 3 ? undefined : findEntry(parseJson(value), depth + 1)
  if (!isObject(value) || depth > 3) return undefined
  return value['audit'] !== undefined ? value : findEntry(value['message'] ?? value['@message'], depth + 1)
}
