import type { HomeAccount } from './state/imitated-aws.ts'

/** Account and region in which the host pretends to run. */
export const HOME_ACCOUNT: HomeAccount = { account: '111122223333', region: 'us-east-1' }

/**
 * The instance whose metadata service has its own port. This instance has not logged in yet, so that users
 * can try a login.
 */
export const WORKLOAD_INSTANCE = { ...HOME_ACCOUNT, instanceId: 'i-0c10ad0a7b0000001' }

/** The instance that the demonstration logs in. */
export const DEMONSTRATION_INSTANCE = { ...HOME_ACCOUNT, instanceId: 'i-0c10ad0a7b0000002' }

/** Prefix of the IAM user that replaces the roles of a cluster's functions; the cluster's name follows. */
export const EXECUTION_USER = 'cloud-auth-lambda'
