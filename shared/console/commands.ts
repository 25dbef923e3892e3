/** A text as one word of a POSIX shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Commands to copy, with what they are for. */
export interface ShellCommand {
  what: string
  text: string
}

interface Places {
  /** base addresses of both APIs, with `/v1`; the other one is empty where it is not known */
  own: string
  other: string
  /** the name under which this cluster was, or shall be, known to its primary; it may have been chosen by anybody */
  name: string
}

const DR = 'sys/replication/dr'
/** Secrets stand in variables of the shell: nothing of them is typed into this page, or into a history. */
const JSON_TOKEN = `"{\\"dr_operation_token\\": \\"$OPERATION\\"}"`

/**
 * What is done in a shell and not in this page: there recovery shares are given, and what needs tokens of both clusters at
 * once.
 */
export function commandsFor({ own, other, name }: Places): ShellCommand[] {
  const generate = `${own}${DR}/secondary/generate-operation-token`
  const at = (base: string, path: string) => quoted(`${base}${DR}/${path}`)
  const primary = other || 'https://<the primary>/v1/'
  const id = name || 'name-of-this-cluster'
  return [
    {
      what: 'Make a DR operation token of recovery shares: each holder repeats the second command with a share of their own.',
      text: [
        `curl -sS -X POST ${quoted(`${generate}/attempt`)} -d '{}'   # shows nonce and otp`,
        `read -rs SHARE; curl -sS -X POST ${quoted(`${generate}/update`)} -d "{\\"nonce\\": \\"$NONCE\\", \\"key\\": \\"$SHARE\\"}"; unset SHARE`,
        `curl -sS -X POST ${quoted(`${own}sys/decode-token`)} -d "{\\"encoded_token\\": \\"$ENCODED\\", \\"otp\\": \\"$OTP\\"}"`,
      ].join('\n'),
    },
    {
      what: 'Have this cluster follow another primary: a key of its own, a token of the primary for that key, and the change.',
      text: [
        `KEY=$(curl -sS -X POST ${at(own, 'secondary/generate-public-key')} -d ${JSON_TOKEN} | jq -er .data.secondary_public_key)`,
        `JOIN=$(curl -sS -X POST -H "X-Vault-Token: $OPERATION" ${at(primary, 'primary/secondary-token')} -d "$(jq -n --arg id ${quoted(id)} --arg key "$KEY" '{id: $id, secondary_public_key: $key}')" | jq -er .data.token)`,
        `curl -sS -X POST ${at(own, 'secondary/update-primary')} -d "{\\"dr_operation_token\\": \\"$OPERATION\\", \\"token\\": \\"$JOIN\\"}"`,
      ].join('\n'),
    },
    {
      what: 'End a DR operation token that was made of recovery shares, once it is not needed.',
      text: `curl -sS -X POST ${at(own, 'secondary/operation-token/delete')} -d ${JSON_TOKEN}`,
    },
  ]
}
