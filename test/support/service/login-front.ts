let byWebFunction = Boolean(process.env['WEB_LOGINS'])

/** From now on logins of this file go through an HTTP server, like those of a Web Function. */
export const serveLoginsByWebFunction = (): void => {
  byWebFunction = true
}

/** Reports whether logins of this file go through a Web Function. */
export const loginsByWebFunction = (): boolean => byWebFunction
