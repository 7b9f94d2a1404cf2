import Foundation
import NIOCore
import NIOHTTP1
import PollerHTTP

/// The opening handshake of a WebSocket (RFC 6455 §4.2.1).
///
/// NIO's upgrader drops the head of a request with an unacceptable handshake, and then no response is sent. So it gets
/// only handshakes that pass this check.
enum Handshake {
    /// The protocol name in the handshake.
    static let subprotocol = "poller.v1.json"

    /// Whether a request asks for a WebSocket.
    ///
    /// Another protocol in `Upgrade`, such as curl's `h2c`, is ignored, and the response uses HTTP/1.1 (RFC 9110 §7.8).
    /// The header is also ignored in HTTP/1.0.
    static func isRequested(by head: HTTPRequestHead) -> Bool {
        !HostField.isOld(head)
            && head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
    }

    /// Returns the reason why a handshake is rejected, or `nil` if it is valid.
    static func refusal(of head: HTTPRequestHead) -> Refusal? {
        let headers = head.headers
        guard head.method == .GET else { return malformed("a handshake is a GET") }
        guard headers["sec-websocket-version"] == ["13"] else {
            return Refusal(
                status: .upgradeRequired,
                code: "upgrade_required",
                detail: "use version 13 of the WebSocket protocol: Sec-WebSocket-Version: 13"
            )
        }
        guard
            headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" })
        else { return malformed("send Connection: Upgrade; a proxy may have removed it") }
        let keys = headers["sec-websocket-key"]
        guard keys.count == 1, Data(base64Encoded: keys[0])?.count == 16 else {
            return malformed("send one Sec-WebSocket-Key of 16 bytes in base64")
        }
        let hasBody =
            headers.contains(name: "transfer-encoding")
            || headers["content-length"].contains { $0 != "0" }
        guard !hasBody else { return malformed("a handshake has no body") }
        let offered = headers[canonicalForm: "sec-websocket-protocol"]
        guard offered.contains(Substring(subprotocol)) else {
            return malformed("offer the subprotocol \(subprotocol)")
        }
        return nil
    }

    /// The rejection of a handshake that passes the checks here but not NIO's.
    static let notAccepted = malformed("this is no opening handshake of a WebSocket")

    private static func malformed(_ detail: String) -> Refusal {
        Refusal(status: .badRequest, code: "invalid_header", detail: detail)
    }
}

/// Checks the first request of a connection before NIO's upgrader sees it.
///
/// The upgrader gets a head with `Upgrade` only if the handshake is valid. The handler of plain requests responds to
/// every other request. This handler is removed after the head, because a WebSocket has no further requests.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// The delay before closing after a decoder error, which was answered with 400.
    private static let errorLinger = TimeAmount.seconds(1)

    private let pendingConnection: PendingConnection
    /// Returns the reason why a request gets no WebSocket, regardless of its handshake.
    private let refusal: (HTTPRequestHead) -> Refusal?

    init(_ pendingConnection: PendingConnection, refusal: @escaping (HTTPRequestHead) -> Refusal?) {
        self.pendingConnection = pendingConnection
        self.refusal = refusal
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        pendingConnection.close(after: PendingConnection.answerMax)
        if HostField.isInvalid(head) {
            let refusal = Refusal(
                status: .badRequest,
                code: "invalid_header",
                detail: "send one Host header with the address of this server"
            )
            pendingConnection.refused = (head, refusal)
            head.headers.remove(name: "upgrade")
        } else if Handshake.isRequested(by: head) {
            let refusal = refusal(head) ?? Handshake.refusal(of: head)
            pendingConnection.refused = (head, refusal ?? Handshake.notAccepted)
            if refusal != nil { head.headers.remove(name: "upgrade") }
        } else {
            head.headers.remove(name: "upgrade")
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        pendingConnection.close(after: Self.errorLinger)
        context.fireErrorCaught(error)
    }
}
