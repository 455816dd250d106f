/** All of Reeve's routes, and the chat: `/api/chat`. */
import { server } from '../../../server.ts'

const handle = async (request: Request): Promise<Response> => (await server()).fetch(request)
export { handle as DELETE, handle as GET, handle as POST }
