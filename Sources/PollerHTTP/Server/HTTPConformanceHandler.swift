package import NIOCore
package import NIOHTTP1
import SafeNumbers

/// Guarantees of HTTP to the clients of a listener that the framework behind it does not provide.
///
/// | the client | receives |
/// |---|---|
/// | sends `HEAD` | the headers of `GET`, and no body (RFC 9110 §9.3.2) |
/// | uses HTTP/1.0 | a response without `Transfer-Encoding` that ends with the connection (RFC 9112 §6.1) |
/// | sends `Expect: 100-continue` | `100 Continue`, in the order of its requests (RFC 9110 §10.1.1) |
///
/// *HEAD* reaches the framework as `GET`, so no route can support one and lack the other.
/// *HTTP/1.0* requests get the header `Connection: close` for the framework. *100 Continue* is sent
/// after all earlier responses. It is not sent for a body longer than any route reads. Such a
/// request is rejected without it, and the client need not send the body.
///
/// The handler is placed right after the decoder, where the version is known. A class, as NIO
/// requires; confined to the event loop of its channel.
package final class HTTPConformanceHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// A request whose response is not sent yet.
    private struct Exchange {
        let isHead: Bool
        let isOld: Bool
        /// Whether the client waits for `100 Continue` before it sends the body.
        var isWaiting: Bool

        init(_ head: HTTPRequestHead, bodyBytesMax: Int) {
            isHead = head.method == .HEAD
            isOld = HostField.isOld(head)
            let announced = head.headers.first(name: "content-length")
            // A length that no integer can hold exceeds every limit.
            let length = announced.map { Int(decimal: $0) ?? .max } ?? 0
            let hasBody = length > 0 || head.headers.contains(name: "transfer-encoding")
            isWaiting =
                !isOld && hasBody && length <= bodyBytesMax
                && head.headers[canonicalForm: "expect"].contains {
                    $0.lowercased() == "100-continue"
                }
        }
    }

    /// The longest body that any route reads.
    private let bodyBytesMax: Int
    /// In the order of the requests, which is that of the responses.
    private var exchanges = CircularBuffer<Exchange>()

    /// Makes a handler for one connection.
    package init(bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
    }

    /// Adds the handler to a channel that has a request decoder.
    package static func add(to channel: any Channel, bodyBytesMax: Int) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(
            HTTPConformanceHandler(bodyBytesMax: bodyBytesMax),
            position: .after(decoder)
        )
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            let exchange = Exchange(head, bodyBytesMax: bodyBytesMax)
            exchanges.append(exchange)
            if exchange.isHead { head.method = .GET }
            if exchange.isOld { head.headers.replaceOrAdd(name: "connection", value: "close") }
            permit(context)
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body, .end:
            // The client sends its body without waiting for `100 Continue`.
            if !exchanges.isEmpty {
                exchanges[exchanges.index(before: exchanges.endIndex)].isWaiting = false
            }
            context.fireChannelRead(data)
        }
    }

    package func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        guard let exchange = exchanges.first else {
            // The response to a request that could not be parsed.
            return context.write(data, promise: promise)
        }
        switch unwrapOutboundIn(data) {
        case .head(var head) where exchange.isOld:
            // The encoder would use chunked encoding for a response of unknown length, unless the
            // response is of HTTP/1.0 too.
            if !head.headers.contains(name: "content-length") { head.version = .http1_0 }
            head.headers.replaceOrAdd(name: "connection", value: "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head: context.write(data, promise: promise)
        case .body:
            if exchange.isHead {
                writeNothing(context, promise)
            } else {
                context.write(data, promise: promise)
            }
        case .end:
            _ = exchanges.removeFirst()
            if exchange.isHead {
                // The encoder would end a chunked body that was never started.
                writeNothing(context, promise)
            } else {
                context.write(data, promise: promise)
            }
            permit(context)
        }
    }

    /// Sends `100 Continue` if the next client request waits for it.
    private func permit(_ context: ChannelHandlerContext) {
        guard exchanges.first?.isWaiting == true else { return }
        exchanges[exchanges.startIndex].isWaiting = false
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Completes a promise in the order of the writes.
    private func writeNothing(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?)
    {
        guard promise != nil else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}
