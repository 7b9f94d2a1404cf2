package import NIOCore
package import NIOHTTP1

/// The `Host` header of a request: exactly one, with a valid value (RFC 9112 §3.2).
///
/// A proxy and this server may interpret a request with two hosts differently, and a request
/// without a host bypasses the check of keyless servers. HTTP/1.0 has no such header, so there it
/// may be missing.
package enum HostField {
    /// Returns whether the request must be rejected with 400.
    package static func isInvalid(_ head: HTTPRequestHead) -> Bool {
        var hosts = 0
        for header in head.headers where header.name.lowercased() == "host" {
            guard isValid(header.value) else { return true }
            hosts += 1
        }
        return hosts > 1 || hosts == 0 && !isOld(head)
    }

    /// Returns whether the request uses HTTP/1.0 or older.
    package static func isOld(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_0 || head.version == .http0_9
    }

    /// Returns whether a value is `uri-host [":" port]`.
    ///
    /// An `http` URL never has an empty host.
    private static func isValid(_ value: String) -> Bool {
        !value.isEmpty && !value.hasPrefix(":") && value.utf8.allSatisfy(isAllowed)
    }

    /// Returns whether a byte occurs in registered names, addresses and ports (RFC 3986 §3.2.2),
    /// which contain neither a user nor a path.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=%:[]".utf8.contains(byte)
        }
    }
}

/// Rejects a request without a valid ``HostField`` as if it were malformed: the server responds to
/// the requests before it, then with 400, and closes the connection.
///
/// The handler is placed after the decoder, because the version of the request is not known later.
package final class HostCheck: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart

    private var isRefused = false

    /// Makes a check for one connection.
    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .head(let head) = unwrapInboundIn(data), HostField.isInvalid(head) {
            isRefused = true
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        context.fireChannelRead(data)
    }

    /// Adds a check to a channel that has a request decoder.
    package static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(HostCheck(), position: .after(decoder))
    }
}
