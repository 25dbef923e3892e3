import type { Role } from '../../model/role.ts'

/** A principal that roles bind by its exact ARN. */
export interface BoundPrincipal {
  arn: string
  /** the roles that bind the principal */
  bindings: PrincipalBinding[]
}

interface PrincipalBinding {
  /** name of the role */
  role: string
  /** unique ID that the role binds; absent: none */
  boundId?: string
  /** `bindsPods`: the role binds tags that EKS Pod Identity writes */
  bindsPods: boolean
  /** `comparesPath`: the role binds the whole ARN; false: logins compare the ARN without its path */
  comparesPath: boolean
}

/** Matches the tags that EKS Pod Identity writes. */
const TAG_OF_PODS = /^(?:eks-cluster|kubernetes)-/

const bindsTagsOfPods = ({ claims = {} }: Role): boolean =>
  claims.bound_eks_cluster_arn !== undefined ||
  Object.keys(claims.bound_principal_tags ?? {}).some(key => TAG_OF_PODS.test(key))

/** The maximum number of principals about which a review asks IAM. */
const MOST_PRINCIPALS = 100

/** The principals about which a review asks IAM. */
export interface PrincipalsToAsk {
  add(name: string, role: Role): void
  list(): readonly BoundPrincipal[]
  /** Returns why principals are left out; undefined if none is. */
  gap(): string | undefined
}

export function collectPrincipals(): PrincipalsToAsk {
  const byArn = new Map<string, BoundPrincipal>()
  let omits = false
  return {
    add: (name, role) => {
      const exact = role.boundIamPrincipalArns.filter(arn => !arn.endsWith('*'))
      const ids = role.boundIamPrincipalIds.length === exact.length ? role.boundIamPrincipalIds : []
      const bindsPods = bindsTagsOfPods(role)
      // a write looks up the whole ARN, if the role resolves unique IDs
      const comparesPath = role.authType === 'jwt' || role.resolveAwsUniqueIds === true
      for (const [index, arn] of exact.entries()) {
        const known = byArn.get(arn)
        if (!known && byArn.size >= MOST_PRINCIPALS) {
          omits = true
          continue
        }
        const boundId = ids[index]
        const binding = { role: name, bindsPods, comparesPath, ...(boundId === undefined ? {} : { boundId }) }
        if (known) known.bindings.push(binding)
        else byArn.set(arn, { arn, bindings: [binding] })
      }
    },
    list: () => [...byArn.values()],
    gap: () => (omits ? `IAM was asked about the first ${MOST_PRINCIPALS} principals only` : undefined),
  }
}
