import {
  allowAnyone,
  allowByPolicy,
  type Endpoint,
  type EndpointGroup,
  endpointRow,
} from '../api/endpoint.ts'
import {
  disableMount,
  enableMount,
  enableMountFields,
  listMounts,
  listSecretEngines,
  listVisibleMounts,
  readMount,
  readMountTuning,
  tuneMount,
  tuneMountFields,
} from '../mounts/manage.ts'
import { key } from '../storage/kinds.ts'

const subject = () => key('mounts')
const mount = { path: '/sys/auth/:method_path', subject }

/** Builds the endpoints of a mount's settings. The older path requires sudo, like everything below `sys/auth`. */
const tuning = (path: string, options: { sudo?: true }): Endpoint[] => [
  endpointRow.get({
    path,
    subject,
    summary: 'Read the settings of a mount',
    access: allowByPolicy('read', options),
    mirrored: true,
    handle: readMountTuning,
  }),
  endpointRow.post({
    path,
    subject,
    summary: 'Change the settings of a mount',
    fields: tuneMountFields,
    access: allowByPolicy('update', options),
    uses: ['write'],
    handle: tuneMount,
  }),
]

export const mountsGroup: EndpointGroup = {
  name: 'mounts',
  endpoints: [
    // must precede the mount endpoints, whose path would match too
    ...tuning('/sys/auth/:method_path/tune', { sudo: true }),
    ...tuning('/sys/mounts/auth/:method_path/tune', {}),
    endpointRow.get({
      path: '/sys/auth',
      summary: 'List mounts',
      mirrored: true,
      subject,
      handle: listMounts,
    }),
    endpointRow.get({
      path: '/sys/mounts',
      summary: 'List the built-in secret engines',
      mirrored: true,
      subject,
      handle: listSecretEngines,
    }),
    endpointRow.get({
      ...mount,
      also: '/sys/mounts/auth/:method_path',
      summary: 'Read a mount',
      access: allowByPolicy('read', { sudo: true }),
      mirrored: true,
      handle: readMount,
    }),
    endpointRow.post({
      ...mount,
      summary: 'Enable the auth method at another path',
      fields: enableMountFields,
      access: allowByPolicy('update', { sudo: true }),
      uses: ['write'],
      handle: enableMount,
    }),
    endpointRow.delete({
      ...mount,
      summary: 'Disable a mount: deletes its data and its tokens',
      access: allowByPolicy('delete', { sudo: true }),
      uses: ['write', 'background'],
      handle: disableMount,
    }),
    endpointRow.get({
      path: '/sys/internal/ui/mounts',
      summary: 'List the mounts that everyone may see',
      access: allowAnyone,
      handle: listVisibleMounts,
    }),
  ],
}
