import type { Socket } from 'node:net'

/**
 * Connections that look open to the client but are dead, as after a long suspension of the client's process.
 */
export interface OpenConnections {
  /** Resets each present connection when the next data arrives on it. */
  drop(): void
  lives(connection: Socket): boolean
}

export function createOpenConnections(): OpenConnections {
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
