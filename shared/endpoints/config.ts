import { allowByPolicy, type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import { createMountKindListing } from '../api/listing.ts'
import { deleteSubject } from '../api/subject.ts'
import { certificateFields, readCertificate, writeCertificate } from '../auth-method/config/certificates.ts'
import { clientConfigFields, readClientConfig, writeClientConfig } from '../auth-method/config/client.ts'
import {
  identityConfigFields,
  readIdentityConfig,
  writeIdentityConfig,
} from '../auth-method/config/identity.ts'
import {
  deleteIssuer,
  issuerFields,
  listIssuers,
  readIssuer,
  writeIssuerPhases,
} from '../auth-method/config/issuers.ts'
import { jwtConfigFields, readJwtConfig, writeJwtConfig } from '../auth-method/config/jwt.ts'
import {
  deleteOrganization,
  organizationFields,
  readOrganization,
  writeOrganization,
} from '../auth-method/config/organization.ts'
import { readReviewConfig, reviewConfigFields, writeReviewConfig } from '../auth-method/config/review.ts'
import { readStsRole, stsRoleFields, writeStsRole } from '../auth-method/config/sts.ts'
import { key } from '../storage/kinds.ts'

const client = {
  path: '/auth/:mount/config/client',
  subject: ({ mount }: SubjectPlace) => key('client-config', mount),
}
const identity = {
  path: '/auth/:mount/config/identity' as const,
  subject: ({ mount }: SubjectPlace) => key('identity-config', mount),
}
const review = {
  path: '/auth/:mount/config/review' as const,
  subject: ({ mount }: SubjectPlace) => key('identity-config', mount),
}
const certificate = {
  path: '/auth/:mount/config/certificate/:cert_name',
  subject: ({ mount, pathParameters }: SubjectPlace) =>
    key('certificate', mount, pathParameters['cert_name'] ?? ''),
}
const jwt = {
  path: '/auth/:mount/config/jwt' as const,
  subject: ({ mount }: SubjectPlace) => key('jwt-config', mount),
}
const issuer = {
  path: '/auth/:mount/config/jwt/issuer/:issuer_id' as const,
  subject: ({ mount, pathParameters }: SubjectPlace) =>
    key('issuer', mount, pathParameters['issuer_id'] ?? ''),
}
const organization = {
  path: '/auth/:mount/config/organization' as const,
  subject: ({ mount }: SubjectPlace) => key('organization-config', mount),
}
const sts = {
  path: '/auth/:mount/config/sts/:account_id',
  subject: ({ mount, pathParameters }: SubjectPlace) =>
    key('sts-role', mount, pathParameters['account_id'] ?? ''),
}

const write = { access: allowByPolicy('by-existence'), uses: ['write'] } as const
const remove = { uses: ['write'], handle: deleteSubject } as const

export const configGroup: EndpointGroup = {
  name: 'config',
  endpoints: [
    endpointRow.post({
      ...client,
      ...write,
      summary: 'Configure how this mount reaches AWS',
      fields: clientConfigFields,
      handle: writeClientConfig,
    }),
    endpointRow.get({ ...client, summary: 'Read the client configuration', handle: readClientConfig }),
    endpointRow.delete({ ...client, ...remove, summary: 'Delete the client configuration' }),

    endpointRow.post({
      ...identity,
      summary: 'Configure names of aliases and metadata of logins',
      fields: identityConfigFields,
      uses: ['write'],
      handle: writeIdentityConfig,
    }),
    endpointRow.get({ ...identity, summary: 'Read the identity configuration', handle: readIdentityConfig }),

    endpointRow.post({
      ...review,
      summary: 'Configure what the review of the mount knows',
      fields: reviewConfigFields,
      uses: ['write'],
      handle: writeReviewConfig,
    }),
    endpointRow.get({ ...review, summary: 'Read the configuration of the review', handle: readReviewConfig }),

    endpointRow.post({
      ...certificate,
      ...write,
      summary: 'Register a certificate that verifies identity documents',
      fields: certificateFields,
      handle: writeCertificate,
    }),
    endpointRow.get({ ...certificate, summary: 'Read a registered certificate', handle: readCertificate }),
    endpointRow.delete({ ...certificate, ...remove, summary: 'Delete a registered certificate' }),
    endpointRow.list({
      path: '/auth/:mount/config/certificates',
      summary: 'List registered certificates',
      handle: createMountKindListing('certificate'),
    }),

    endpointRow.post({
      ...jwt,
      ...write,
      summary: 'Configure logins by tokens that AWS signed',
      fields: jwtConfigFields,
      handle: writeJwtConfig,
    }),
    endpointRow.get({ ...jwt, summary: 'Read the configuration of logins by token', handle: readJwtConfig }),
    endpointRow.delete({ ...jwt, ...remove, summary: 'Delete the configuration of logins by token' }),
    endpointRow.post({
      ...issuer,
      access: write.access,
      uses: ['write', 'issuer-keys'],
      summary: 'Trust the issuer of an AWS account, or block it',
      fields: issuerFields,
      handle: { phases: () => writeIssuerPhases },
    }),
    endpointRow.get({ ...issuer, summary: 'Read an issuer and its keys', handle: readIssuer }),
    endpointRow.delete({
      ...issuer,
      uses: ['write'],
      summary: 'Delete an issuer',
      handle: deleteIssuer,
    }),
    endpointRow.list({
      path: '/auth/:mount/config/jwt/issuers',
      summary: 'List issuers',
      handle: listIssuers,
    }),

    endpointRow.post({
      ...organization,
      access: write.access,
      uses: ['write', 'background'],
      summary: 'Configure the AWS organization whose accounts roles may bind',
      fields: organizationFields,
      handle: writeOrganization,
    }),
    endpointRow.get({
      ...organization,
      summary: 'Read the configuration and the state of the organization map',
      handle: readOrganization,
    }),
    endpointRow.delete({
      ...organization,
      uses: ['write', 'background'],
      summary: 'Delete the organization map',
      handle: deleteOrganization,
    }),

    endpointRow.post({
      ...sts,
      ...write,
      summary: 'Configure the role to assume for another AWS account',
      fields: stsRoleFields,
      handle: writeStsRole,
    }),
    endpointRow.get({ ...sts, summary: 'Read the role to assume for an AWS account', handle: readStsRole }),
    endpointRow.delete({ ...sts, ...remove, summary: 'Delete the role to assume for an AWS account' }),
    endpointRow.list({
      path: '/auth/:mount/config/sts',
      summary: 'List AWS accounts with a role to assume',
      handle: createMountKindListing('sts-role'),
    }),
  ],
}
