import type { Home } from './state/imitated-aws.ts'

/** Where the host pretends to be. */
export const HOME: Home = { account: '111122223333', region: 'us-east-1' }

/** The instance whose metadata service has a port of its own. It has not logged in yet: that is for whoever tries. */
export const WORKLOAD = { ...HOME, instanceId: 'i-0c10ad0a7b0000001' }

/** The instance that logs in to be seen. */
export const DEMONSTRATOR = { ...HOME, instanceId: 'i-0c10ad0a7b0000002' }

/** The IAM user that stands for the roles of a cluster's functions; the cluster's name follows. */
export const EXECUTION_USER = 'cloud-auth-lambda'
