import { anyone, type Endpoint, endpoint, type Group, policy } from '../api/endpoint.ts'
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

/** Both paths of a mount's settings; the older one wants sudo, like everything below `sys/auth`. */
const tuning = (path: string, options: { sudo?: true }): Endpoint[] => [
  endpoint({
    path,
    subject,
    method: 'GET',
    summary: 'Read the settings of a mount',
    access: policy('read', options),
    answers: 'data',
    mirrored: true,
    handle: readTuning,
  }),
  endpoint({
    path,
    subject,
    method: 'POST',
    summary: 'Change the settings of a mount',
    fields: tuneFields,
    access: policy('update', options),
    uses: ['write'],
    answers: 'nothing',
    handle: tuneMount,
  }),
]

export const mountsGroup: Group = {
  name: 'mounts',
  endpoints: [
    // before the mounts themselves, whose path would take everything
    ...tuning('/sys/auth/:method_path/tune', { sudo: true }),
    ...tuning('/sys/mounts/auth/:method_path/tune', {}),
    endpoint({
      method: 'GET',
      path: '/sys/auth',
      summary: 'List mounts',
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      subject,
      handle: listMounts,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/mounts',
      summary: 'List the engines beside the auth methods',
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      subject,
      handle: listEngines,
    }),
    endpoint({
      ...mount,
      also: '/sys/mounts/auth/:method_path',
      method: 'GET',
      summary: 'Read a mount',
      access: policy('read', { sudo: true }),
      answers: 'data',
      mirrored: true,
      handle: readMount,
    }),
    endpoint({
      ...mount,
      method: 'POST',
      summary: 'Enable the auth method under another name',
      fields: enableFields,
      access: policy('update', { sudo: true }),
      uses: ['write'],
      answers: 'nothing',
      handle: enableMount,
    }),
    endpoint({
      ...mount,
      method: 'DELETE',
      summary: 'Disable a mount: its data and its tokens go',
      access: policy('delete', { sudo: true }),
      uses: ['write', 'background'],
      answers: 'nothing',
      handle: disableMount,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/internal/ui/mounts',
      summary: 'Mounts that are shown to everybody',
      access: anyone,
      answers: 'data',
      handle: visibleMounts,
    }),
  ],
}
