import { type NamedCluster, observeNamedCluster } from '../command/set/look.ts'
import type { MemberPlan } from './settings.ts'

/** Timeout for answers; role changes take longest. */
export const memberConnection = { timeoutMs: 60_000 }

type Member = Pick<MemberPlan, 'name' | 'address'>
export const toNamedCluster = ({ name, address }: Member): NamedCluster => ({ name, base: `${address}/v1` })
export const observeMember = (member: Member) => observeNamedCluster(toNamedCluster(member), memberConnection)
