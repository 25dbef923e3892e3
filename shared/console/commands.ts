/** Quotes a text as one word for a POSIX shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command to copy, with its purpose. */
export interface ShellCommand {
  what: string
  text: string
}

interface Places {
  /** base URLs of both APIs, with `/v1/`; `other` is empty if unknown */
  own: string
  other: string
  /** name under which the primary knows, or should know, this cluster; an administrator may have chosen any text */
  name: string
}

const DR = 'sys/replication/dr'
/** Shell variables hold the secrets, so that no secret is typed into this page or kept in a shell history. */
const JSON_TOKEN = `"{\\"dr_operation_token\\": \\"$OPERATION\\"}"`

/** Commands that make a cluster follow the primary without deleting its data. `id`: its name at the primary. */
const followText = (follower: string, primary: string, id: string): string => {
  const at = (base: string, path: string) => quoteForShell(`${base}${DR}/${path}`)
  return [
    `KEY=$(curl -sS -X POST ${at(follower, 'secondary/generate-public-key')} -d ${JSON_TOKEN} | jq -er .data.secondary_public_key)`,
    `JOIN=$(curl -sS -X POST -H "X-Vault-Token: $OPERATION" ${at(primary, 'primary/secondary-token')} -d "$(jq -n --arg id ${quoteForShell(id)} --arg key "$KEY" '{id: $id, secondary_public_key: $key, replace: true}')" | jq -er .data.token)`,
    `curl -sS -X POST ${at(follower, 'secondary/update-primary')} -d "{\\"dr_operation_token\\": \\"$OPERATION\\", \\"token\\": \\"$JOIN\\"}"`,
  ].join('\n')
}

const revokeText = (base: string): string =>
  `curl -sS -X POST ${quoteForShell(`${base}${DR}/secondary/operation-token/delete`)} -d ${JSON_TOKEN}`

/** The clusters of the duties: base URLs with `/v1/`, and the follower's name. */
interface DutyPlaces {
  primary: string
  follower: string
  name: string
}

/** Returns the remaining duties after a take-over, each with a command to copy. */
export const listDuties = (places: DutyPlaces): ShellCommand[] => [
  {
    what: 'Send the clients to the serving cluster. Its health must be 200.',
    text: `curl -sS -o /dev/null -w '%{http_code}\\n' ${quoteForShell(`${places.primary}sys/health`)}`,
  },
  followDuty('Make the former primary follow, as soon as it answers. This deletes no data.', places),
  {
    what: 'Read which writes the former primary lost. After a planned switch none are lost.',
    text: `curl -sS -H "X-Vault-Token: $OPERATION" ${quoteForShell(`${places.follower}${DR}/divergence`)} | jq .data`,
  },
]

/** Returns the duty after a revocation. The operator decides, because the revocation may be on purpose. */
export const listReadmission = (places: DutyPlaces): ShellCommand[] => [
  followDuty('Admit the secondary again, unless it was revoked on purpose. This deletes no data.', places),
]

const followDuty = (what: string, { primary, follower, name }: DutyPlaces): ShellCommand => ({
  what,
  text: `read -rs OPERATION   # a DR operation token\n${followText(follower, primary, name)}`,
})

/**
 * Returns commands for tasks that this page does not do: submitting recovery shares, and requests that need tokens of
 * both clusters.
 */
export function buildShellCommands({ own, other, name }: Places): ShellCommand[] {
  const generate = `${own}${DR}/secondary/generate-operation-token`
  const primary = other || 'https://<the primary>/v1/'
  const id = name || 'name-of-this-cluster'
  return [
    {
      what: 'Generate a DR operation token from recovery shares. Each holder runs the second command with their own share.',
      text: [
        `curl -sS -X POST ${quoteForShell(`${generate}/attempt`)} -d '{}'   # shows nonce and otp`,
        `read -rs SHARE; curl -sS -X POST ${quoteForShell(`${generate}/update`)} -d "{\\"nonce\\": \\"$NONCE\\", \\"key\\": \\"$SHARE\\"}"; unset SHARE`,
        `curl -sS -X POST ${quoteForShell(`${own}sys/decode-token`)} -d "{\\"encoded_token\\": \\"$ENCODED\\", \\"otp\\": \\"$OTP\\"}"`,
      ].join('\n'),
    },
    {
      what: 'Make this cluster follow another primary: generate a key here, get a token for it from the primary, and submit the token here.',
      text: followText(own, primary, id),
    },
    {
      what: 'Revoke a DR operation token that was generated from recovery shares, as soon as it is no longer needed.',
      text: revokeText(own),
    },
  ]
}

/** Returns the commands that find the audit entry of a request. @param id the answer's `request_id`; empty: unknown */
export function findEntryCommands(id: string): ShellCommand[] {
  const wanted = /^[\w-]{1,128}$/.test(id) ? id : '<request_id>'
  const jq = quoteForShell(`select(.audit == "response" and .request.id == "${wanted}")`)
  return [
    {
      what: 'On AWS, in the log group of the audit log:',
      text: `aws logs filter-log-events --log-group-name "$AUDIT_LOG_GROUP" --filter-pattern ${quoteForShell(`{ $.request.id = "${wanted}" }`)} --query 'events[].message' --output text`,
    },
    {
      what: 'On a laptop, in the folder of the cluster:',
      text: `jq -c ${jq} "$CLUSTER_FOLDER/audit.log"`,
    },
  ]
}
