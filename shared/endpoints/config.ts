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
import { readStsRole, stsRoleFields, writeStsRole } from '../auth-method/config/sts.ts'
import { key } from '../storage/kinds.ts'

const client = {
  path: '/auth/:mount/config/client',
  subject: ({ mount }: SubjectPlace) => key('client-config', mount),
}
const identity = {
  path: '/auth/:mount/config/identity',
  subject: ({ mount }: SubjectPlace) => key('identity-config', mount),
}
const certificate = {
  path: '/auth/:mount/config/certificate/:cert_name',
  subject: ({ mount, pathParameters }: SubjectPlace) =>
    key('certificate', mount, pathParameters['cert_name'] ?? ''),
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
