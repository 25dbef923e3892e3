import { byPolicy, type Group, row, type SubjectPlace } from '../api/endpoint.ts'
import { listKindOfMount } from '../api/listing.ts'
import { removeSubject } from '../api/subject.ts'
import { certificateFields, readCertificate, writeCertificate } from '../auth-method/config/certificates.ts'
import { clientFields, readClient, writeClient } from '../auth-method/config/client.ts'
import { identityFields, readIdentityConfig, writeIdentity } from '../auth-method/config/identity.ts'
import { readSts, stsFields, writeSts } from '../auth-method/config/sts.ts'
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

export const configGroup: Group = {
  name: 'config',
  endpoints: [
    row.post({
      ...client,
      summary: 'Configure how this mount reaches AWS',
      fields: clientFields,
      access: byPolicy('by-existence'),
      uses: ['write'],
      handle: writeClient,
    }),
    row.get({ ...client, summary: 'Read the client configuration', handle: readClient }),
    row.delete({
      ...client,
      summary: 'Delete the client configuration',
      uses: ['write'],
      handle: removeSubject,
    }),

    row.post({
      ...identity,
      summary: 'Configure names of aliases and metadata of logins',
      fields: identityFields,
      uses: ['write'],
      handle: writeIdentity,
    }),
    row.get({ ...identity, summary: 'Read the identity configuration', handle: readIdentityConfig }),

    row.post({
      ...certificate,
      summary: 'Register a certificate that verifies identity documents',
      fields: certificateFields,
      access: byPolicy('by-existence'),
      uses: ['write'],
      handle: writeCertificate,
    }),
    row.get({ ...certificate, summary: 'Read a registered certificate', handle: readCertificate }),
    row.delete({
      ...certificate,
      summary: 'Delete a registered certificate',
      uses: ['write'],
      handle: removeSubject,
    }),
    row.list({
      path: '/auth/:mount/config/certificates',
      summary: 'List registered certificates',
      handle: listKindOfMount('certificate'),
    }),

    row.post({
      ...sts,
      summary: 'Configure the role to assume for another AWS account',
      fields: stsFields,
      access: byPolicy('by-existence'),
      uses: ['write'],
      handle: writeSts,
    }),
    row.get({ ...sts, summary: 'Read the role to assume for an AWS account', handle: readSts }),
    row.delete({
      ...sts,
      summary: 'Delete the role to assume for an AWS account',
      uses: ['write'],
      handle: removeSubject,
    }),
    row.list({
      path: '/auth/:mount/config/sts',
      summary: 'List AWS accounts with a role to assume',
      handle: listKindOfMount('sts-role'),
    }),
  ],
}
