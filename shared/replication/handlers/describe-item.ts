import { isRootToken } from '../../model/token.ts'
import type { itemKinds, Kind } from '../../storage/kinds.ts'
import type { StoredDataByKind } from '../../storage/stored.ts'

/** The kinds of items that journals contain. */
type Replicated = {
  [K in Kind]: (typeof itemKinds)[K]['table'] extends 'data' ? K : never
}[Kind]

/** An item by its key, with its content if the content is known. */
interface DescribedItem<K extends Kind> {
  /** `owner` is the first part of the item's partition key, such as the accessor of a mount */
  owner: string
  /** `mount` is the description of the item's mount */
  mount: string
  /** sort key of the item */
  name: string
  data?: Partial<StoredDataByKind[K]> | undefined
}

/**
 * Descriptions of items by kind. Descriptions of items contain accessors and names, but no secret and no text that
 * is encrypted or signed.
 */
const descriptions: { readonly [K in Replicated]: (thing: DescribedItem<K>) => string } = {
  mounts: () => 'the list of mounts',
  'mounts-revision': () => 'revision of the list of mounts',
  'client-config': ({ mount }) => `client configuration of ${mount}`,
  'identity-config': ({ mount }) => `identity configuration of ${mount}`,
  'tidy-settings': ({ name, mount }) => `tidy settings of the ${name} of ${mount}`,
  certificate: ({ name, mount }) => `certificate ${name} of ${mount}`,
  'sts-role': ({ name, mount }) => `STS role for account ${name} of ${mount}`,
  'jwt-config': ({ mount }) => `configuration of logins by token of ${mount}`,
  'organization-config': ({ mount }) => `configuration of the organization of ${mount}`,
  'organization-map': ({ mount }) => `state of the organization map of ${mount}`,
  'organization-account': ({ name, mount }) => `place of account ${name} in the organization of ${mount}`,
  issuer: ({ name, mount }) => `issuer ${name} of ${mount}`,
  'account-issuer': ({ name, mount }) => `issuer of account ${name} of ${mount}`,
  spent: ({ mount }) => `record of a token that has logged in at ${mount}`,
  instance: ({ name, mount }) => `record of instance ${name.split('.').at(-1) ?? name} at ${mount}`,
  role: ({ name, mount }) => `role ${name} of ${mount}`,
  'role-use': ({ name, mount }) => `last use of the role ${name} of ${mount}`,
  access: ({ name, mount }) => `access-list entry of instance ${name} at ${mount}`,
  deny: ({ name, mount }) => `denial of the role tag ${describeTag(name)} at ${mount}`,
  token: ({ owner, data }) => `${data ? describeToken(data) : 'token'}, accessor ${owner}`,
  child: ({ owner, name }) => `token with accessor ${name}, a child of the token with accessor ${owner}`,
  'token-role': ({ name }) => `token role ${name}`,
  wrapped: ({ owner }) => `wrapped answer behind accessor ${owner}`,
  policy: ({ name }) => `policy ${name}`,
  alias: ({ name, mount }) => `entity alias ${name} at ${mount}`,
  entity: ({ name }) => `entity ${name}`,
  'alias-id': ({ name }) => `entity alias with the id ${name}`,
  'recovery-key': () => 'the recovery key',
  term: ({ name, data }) =>
    `${data?.tokensUntil === undefined ? 'term' : 'retirement of the term'} ${data?.number ?? name} of the keyring`,
  holder: ({ name, data }) =>
    `${data?.revoked ? 'revocation' : 'admission'} of the cluster ${data?.name ? `${data.name} (${name})` : name}`,
  rotation: ({ mount }) => `rotation of the credentials of ${mount}`,
}

const describeToken = ({
  login,
  role,
  policies,
  displayName,
}: Partial<StoredDataByKind['token']>): string => {
  if (login) return `token of role ${login.role}`
  if (role) return `token of token role ${role}`
  if (policies && isRootToken({ policies })) return 'root token'
  return displayName ? `token ${displayName}` : 'token'
}

/** Describes a role tag without its signature: by version, nonce and rights. */
const describeTag = (text: string): string => text.split(':').slice(0, -1).join(':') || 'of an older form'

const isReplicated = (kind: string): kind is Replicated => Object.hasOwn(descriptions, kind)

/**
 * Describes an item by its key, for an operator who decides whether to create it again.
 * @param mounts known mounts, including removed ones
 * @param item the item as stored; absent: unknown content
 */
export function describeItemForOperator(
  { kind, pk, sk }: { kind: string; pk: string; sk: string },
  mounts: readonly { accessor: string; path: string }[],
  item?: unknown,
): string {
  if (!isReplicated(kind)) return `${kind} ${sk}`
  const [first = '', second = ''] = pk.split('#')
  const found = mounts.find(({ accessor }) => accessor === first)
  const thing = {
    owner: first === 'token' ? second : first,
    mount: found ? `auth/${found.path}` : `a mount that does not exist (${first})`,
    name: sk,
    data: (item as { data?: object } | undefined)?.data,
  }
  return descriptions[kind](thing as DescribedItem<never>)
}
