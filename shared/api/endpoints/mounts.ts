import {
  disableMount,
  enableFields,
  enableMount,
  listMounts,
  readMount,
  readTuning,
  tuneFields,
  tuneMount,
  visibleMounts,
} from '../../mounts/manage.ts'
import { key } from '../../storage/kinds.ts'
import { anyone, endpoint, type Group, policy } from '../endpoint.ts'

const subject = () => key('mounts')
const mount = { path: '/sys/auth/:method_path', subject }
const tune = { path: '/sys/auth/:method_path/tune', also: '/sys/mounts/auth/:method_path/tune', subject }

export const mountsGroup: Group = {
  name: 'mounts',
  endpoints: [
    // before the mounts themselves, whose path would take everything
    endpoint({
      ...tune,
      method: 'GET',
      summary: 'Read the settings of a mount',
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      handle: readTuning,
    }),
    endpoint({
      ...tune,
      method: 'POST',
      summary: 'Change the settings of a mount',
      fields: tuneFields,
      access: policy('update'),
      uses: ['write'],
      answers: 'nothing',
      handle: tuneMount,
    }),
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
