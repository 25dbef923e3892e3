import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
import { listFields, listOfMount } from '../api/listing.ts'
import { removeStored } from '../api/subject.ts'
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
  subject: ({ mount, params }: SubjectPlace) => key('certificate', mount, params['cert_name'] ?? ''),
}
const sts = {
  path: '/auth/:mount/config/sts/:account_id',
  subject: ({ mount, params }: SubjectPlace) => key('sts-role', mount, params['account_id'] ?? ''),
}

export const configGroup: Group = {
  name: 'config',
  endpoints: [
    endpoint({
      ...client,
      method: 'POST',
      summary: 'Configure how this mount reaches AWS',
      fields: clientFields,
      access: policy('by-existence'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeClient,
    }),
    endpoint({
      ...client,
      method: 'GET',
      summary: 'Read the client configuration',
      access: policy('read'),
      answers: 'data',
      handle: readClient,
    }),
    endpoint({
      ...client,
      method: 'DELETE',
      summary: 'Delete the client configuration',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),

    endpoint({
      ...identity,
      method: 'POST',
      summary: 'Configure names of aliases and metadata of logins',
      fields: identityFields,
      access: policy('update'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeIdentity,
    }),
    endpoint({
      ...identity,
      method: 'GET',
      summary: 'Read the identity configuration',
      access: policy('read'),
      answers: 'data',
      handle: readIdentityConfig,
    }),

    endpoint({
      ...certificate,
      method: 'POST',
      summary: 'Register a certificate that may vouch for identity documents',
      fields: certificateFields,
      access: policy('by-existence'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeCertificate,
    }),
    endpoint({
      ...certificate,
      method: 'GET',
      summary: 'Read a registered certificate',
      access: policy('read'),
      answers: 'data',
      handle: readCertificate,
    }),
    endpoint({
      ...certificate,
      method: 'DELETE',
      summary: 'Delete a registered certificate',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/:mount/config/certificates',
      summary: 'List registered certificates',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOfMount('certificate'),
    }),

    endpoint({
      ...sts,
      method: 'POST',
      summary: 'Associate a satellite account with a role to assume',
      fields: stsFields,
      access: policy('by-existence'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeSts,
    }),
    endpoint({
      ...sts,
      method: 'GET',
      summary: 'Read the role of a satellite account',
      access: policy('read'),
      answers: 'data',
      handle: readSts,
    }),
    endpoint({
      ...sts,
      method: 'DELETE',
      summary: 'Delete the role of a satellite account',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: removeStored,
    }),
    endpoint({
      method: 'LIST',
      path: '/auth/:mount/config/sts',
      summary: 'List satellite accounts',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listOfMount('sts-role'),
    }),
  ],
}
