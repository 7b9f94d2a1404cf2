import HTTPTypes
import Hummingbird
import NIOCore

@testable import PollerAPI

/// A request of the console, without a server.
enum SessionRequest {
    static func of(
        host: String = "127.0.0.1:8080",
        origin: String? = nil,
        cookie: String? = nil
    ) -> Request {
        var head = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/v1/caller")
        head.headerFields[.pollerConsole] = "1"
        head.headerFields[.origin] = origin
        head.headerFields[.cookie] = cookie
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }
}
