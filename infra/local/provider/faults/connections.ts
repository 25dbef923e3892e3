import type { Socket } from 'node:net'

/** Connections that look open to the other side and are not: what a process finds that was frozen for long. */
export interface Connections {
  /** All connections that have served until now are reset when something comes over them. */
  drop(): void
  lives(connection: Socket): boolean
}

export function newConnections(): Connections {
  const servedSince = new WeakMap<Socket, number>()
  let drops = 0
  return {
    drop: () => {
      drops++
    },
    lives: connection => {
      if (!servedSince.has(connection)) servedSince.set(connection, drops)
      return servedSince.get(connection) === drops
    },
  }
}
