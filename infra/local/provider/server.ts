import type { Server } from 'node:http'
import { answerControl } from './control.ts'
import { answerMetadata } from './services/imds.ts'
import { answerSignedCall } from './services/signed-call.ts'
import type { World } from './state/world.ts'
import { serverOf } from './wire/server.ts'

/** The HTTP server of all services of a world; not listening yet. */
export const createProviderServer = (world: World): Server =>
  serverOf(
    world,
    (request, connection) =>
      answerControl(world, request) ??
      (world.drills.connections.lives(connection)
        ? (answerMetadata(world, request) ?? answerSignedCall(world, request))
        : Promise.resolve('reset')),
  )
