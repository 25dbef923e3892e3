import { inject } from 'vitest'
import type { IamRequest } from './evaluate.ts'
import { TEST_PLACE } from './place.ts'

const arn = (service: string, name: string): string =>
  `arn:aws:${service}:${TEST_PLACE.region}:${TEST_PLACE.account}:${name}`

/** Returns the IAM request of a KMS call with the cluster's key. */
export const keyRequest = (operation: string, context: readonly string[]): IamRequest => ({
  action: `kms:${operation}`,
  resource: inject('ground').policies.key,
  context: { 'kms:EncryptionContextKeys': context },
})

/** @param name of a function, or its ARN */
export const invokeRequest = (name: string): IamRequest => ({
  action: 'lambda:InvokeFunction',
  resource: name.startsWith('arn:') ? name : arn('lambda', `function:${name}`),
  context: {},
})

/** Returns the IAM request that invokes a worker with a fixed name. */
export const workerRequest = (worker: 'job' | 'pull'): IamRequest =>
  invokeRequest(`cloud-auth-local-${worker}`)

export const workflowRequest = (operation: string, workflow: string): IamRequest => ({
  action: `states:${operation}`,
  resource: arn('states', `stateMachine:cloud-auth-local-${workflow}`),
  context: {},
})

export const eventsRequest = (sources: readonly string[]): IamRequest => ({
  action: 'events:PutEvents',
  resource: arn('events', 'event-bus/default'),
  context: { 'events:source': sources },
})
