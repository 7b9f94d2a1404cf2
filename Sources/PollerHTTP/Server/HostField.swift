package import NIOCore
package import NIOHTTP1

/// The `Host` header of a request: exactly one, with a valid value (RFC 9112 §3.2).
///
/// A request with two hosts may mean one server to a proxy and another server to us, and a request
/// without a host bypasses the check of keyless servers. HTTP/1.0 has no such header, so there it may
/// be missing.
package enum HostField {
    /// Whether the request is to be refused with 400.
    package static func isInvalid(_ head: HTTPRequestHead) -> Bool {
        var hosts = 0
        for header in head.headers where header.name.lowercased() == "host" {
            guard isValid(header.value) else { return true }
            hosts += 1
        }
        return hosts > 1 || hosts == 0 && !isOld(head)
    }

    /// Whether the request is of HTTP/1.0 or older.
    package static func isOld(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_0 || head.version == .http0_9
    }

    /// Whether a value is `uri-host [":" port]`; an empty host belongs to no `http` URL.
    private static func isValid(_ value: String) -> Bool {
        !value.isEmpty && !value.hasPrefix(":") && value.utf8.allSatisfy(isAllowed)
    }

    /// The bytes of registered names, addresses and ports (RFC 3986 §3.2.2), which have neither a
    /// user nor a path.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=%:[]".utf8.contains(byte)
        }
    }
}

/// Refuses a request without a valid ``HostField`` like one that is not HTTP: the server answers the
/// requests before it, then 400, and closes the connection.
///
/// It is placed behind the decoder, because the version of the request is not known later.
package final class HostCheck: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart

    private var isRefused = false

    /// A check of one connection.
    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .head(let head) = unwrapInboundIn(data), HostField.isInvalid(head) {
            isRefused = true
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        context.fireChannelRead(data)
    }

    /// Adds a check to a channel that has a decoder of requests.
    package static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(HostCheck(), position: .after(decoder))
    }
}
