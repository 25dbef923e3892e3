import { anyone, byPolicy, type Endpoint, type Group, row } from '../api/endpoint.ts'
import {
  disableMount,
  enableFields,
  enableMount,
  listEngines,
  listMounts,
  readMount,
  readTuning,
  tuneFields,
  tuneMount,
  visibleMounts,
} from '../mounts/manage.ts'
import { key } from '../storage/kinds.ts'

const subject = () => key('mounts')
const mount = { path: '/sys/auth/:method_path', subject }

/** Builds the endpoints of a mount's settings. The older path requires sudo, like everything below `sys/auth`. */
const tuning = (path: string, options: { sudo?: true }): Endpoint[] => [
  row.get({
    path,
    subject,
    summary: 'Read the settings of a mount',
    access: byPolicy('read', options),
    mirrored: true,
    handle: readTuning,
  }),
  row.post({
    path,
    subject,
    summary: 'Change the settings of a mount',
    fields: tuneFields,
    access: byPolicy('update', options),
    uses: ['write'],
    handle: tuneMount,
  }),
]

export const mountsGroup: Group = {
  name: 'mounts',
  endpoints: [
    // must precede the mount endpoints, whose path would match too
    ...tuning('/sys/auth/:method_path/tune', { sudo: true }),
    ...tuning('/sys/mounts/auth/:method_path/tune', {}),
    row.get({ path: '/sys/auth', summary: 'List mounts', mirrored: true, subject, handle: listMounts }),
    row.get({
      path: '/sys/mounts',
      summary: 'List the built-in secret engines',
      mirrored: true,
      subject,
      handle: listEngines,
    }),
    row.get({
      ...mount,
      also: '/sys/mounts/auth/:method_path',
      summary: 'Read a mount',
      access: byPolicy('read', { sudo: true }),
      mirrored: true,
      handle: readMount,
    }),
    row.post({
      ...mount,
      summary: 'Enable the auth method at another path',
      fields: enableFields,
      access: byPolicy('update', { sudo: true }),
      uses: ['write'],
      handle: enableMount,
    }),
    row.delete({
      ...mount,
      summary: 'Disable a mount: deletes its data and its tokens',
      access: byPolicy('delete', { sudo: true }),
      uses: ['write', 'background'],
      handle: disableMount,
    }),
    row.get({
      path: '/sys/internal/ui/mounts',
      summary: 'List the mounts that everyone may see',
      access: anyone,
      handle: visibleMounts,
    }),
  ],
}
