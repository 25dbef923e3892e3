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
}

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
      const bindsPods = role.claims?.bound_eks_cluster_arn !== undefined
      for (const [index, arn] of exact.entries()) {
        const known = byArn.get(arn)
        if (!known && byArn.size >= MOST_PRINCIPALS) {
          omits = true
          continue
        }
        const boundId = ids[index]
        const binding = { role: name, bindsPods, ...(boundId === undefined ? {} : { boundId }) }
        if (known) known.bindings.push(binding)
        else byArn.set(arn, { arn, bindings: [binding] })
      }
    },
    list: () => [...byArn.values()],
    gap: () => (omits ? `IAM was asked about the first ${MOST_PRINCIPALS} principals only` : undefined),
  }
}
