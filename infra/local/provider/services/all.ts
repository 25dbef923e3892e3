import type { WireRequest } from '../wire/http.ts'
import { describeInstances } from './ec2.ts'
import { putBusEvents } from './events.ts'
import {
  createAccessKey,
  deleteAccessKey,
  disableFederation,
  enableFederation,
  getFederationInfo,
  getInstanceProfile,
  getRole,
  getUser,
  listAccessKeys,
  updateAccessKey,
} from './iam.ts'
import { createJsonProtocol } from './json-protocol.ts'
import { decryptWithKey, generateDataKey } from './kms.ts'
import { createLogStream, putLogEvents } from './logs.ts'
import { describeOrganization, listAccounts, listRoots, listUnits } from './organizations.ts'
import { createQueryProtocol, ec2Protocol, stsProtocol } from './query-protocol.ts'
import { createService, type ProviderService } from './service.ts'
import { assumeRole, getCallerIdentity } from './sts.ts'
import { getWebIdentityToken } from './web-identity-token.ts'

const iamNamespace = 'https://iam.amazonaws.com/doc/2010-05-08/'

const sts = createService(stsProtocol, {
  GetCallerIdentity: getCallerIdentity,
  AssumeRole: assumeRole,
  GetWebIdentityToken: getWebIdentityToken,
})

/** The imitated AWS services by their name in credential scopes, with their actions. */
const services: Record<string, ProviderService> = {
  sts,
  ec2: createService(ec2Protocol, {
    DescribeInstances: describeInstances,
  }),
  iam: createService(createQueryProtocol(iamNamespace, '2010-05-08'), {
    GetUser: getUser,
    GetRole: getRole,
    GetInstanceProfile: getInstanceProfile,
    ListAccessKeys: listAccessKeys,
    CreateAccessKey: createAccessKey,
    DeleteAccessKey: deleteAccessKey,
    UpdateAccessKey: updateAccessKey,
    EnableOutboundWebIdentityFederation: enableFederation,
    DisableOutboundWebIdentityFederation: disableFederation,
    GetOutboundWebIdentityFederationInfo: getFederationInfo,
  }),
  kms: createService(createJsonProtocol('TrentService'), {
    Decrypt: decryptWithKey,
    GenerateDataKey: generateDataKey,
  }),
  logs: createService(createJsonProtocol('Logs_20140328'), {
    CreateLogStream: createLogStream,
    PutLogEvents: putLogEvents,
  }),
  events: createService(createJsonProtocol('AWSEvents'), {
    PutEvents: putBusEvents,
  }),
  organizations: createService(createJsonProtocol('AWSOrganizationsV20161128'), {
    DescribeOrganization: describeOrganization,
    ListRoots: listRoots,
    ListOrganizationalUnitsForParent: listUnits,
    ListAccountsForParent: listAccounts,
  }),
}

const byName = new Map(Object.entries(services))

/** Finds a service by name. */
export function findAwsService(
  name: string | undefined,
): [name: string, service: ProviderService] | undefined {
  const found = name === undefined ? undefined : byName.get(name)
  return found && [name ?? '', found]
}

/** Guesses the AWS service of a request without a usable signature; default: STS. */
export const guessAwsService = (request: WireRequest): [name: string, service: ProviderService] =>
  Object.entries(services).find(([, one]) => one.has(one.actionOf(request))) ?? ['sts', sts]
