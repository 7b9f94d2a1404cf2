package import NIOCore
package import NIOHTTP1
import SafeNumbers

/// What HTTP promises every client of a listener, beside what the framework behind it does.
///
/// | the client | gets |
/// |---|---|
/// | sends `HEAD` | the head that `GET` has, and no body (RFC 9110 §9.3.2) |
/// | speaks HTTP/1.0 | an answer without `Transfer-Encoding`, whose end is that of the connection (RFC 9112 §6.1) |
/// | sends `Expect: 100-continue` | `100 Continue` when its turn has come (RFC 9110 §10.1.1) |
///
/// *HEAD* reaches the framework as `GET`, so that no route can have one and lack the other.
/// *HTTP/1.0* is told to the framework as `Connection: close`.
/// *100 Continue* is sent once the answers before it are sent, and not for a body that no route reads: that is refused
/// without it, and the client need not send it.
///
/// It is placed right behind the decoder, where the version is known. A class, as NIO requires; confined to the event
/// loop of its channel.
package final class ClientExpectations: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// A request whose answer is not sent yet.
    private struct Exchange {
        let isHead: Bool
        let isOld: Bool
        /// Whether its body is held back until it is asked for.
        var isWaiting: Bool

        init(_ head: HTTPRequestHead, bodyBytesMax: Int) {
            isHead = head.method == .HEAD
            isOld = HostField.isOld(head)
            let announced = head.headers.first(name: "content-length")
            // A length that no number holds is more than any body may have.
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
    /// In the order of the requests, which is that of their answers.
    private var exchanges = CircularBuffer<Exchange>()

    /// Expectations of one connection.
    package init(bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
    }

    /// Adds it to a channel that has a decoder of requests.
    package static func add(to channel: any Channel, bodyBytesMax: Int) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(
            ClientExpectations(bodyBytesMax: bodyBytesMax),
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
            // It sends its body without having been asked.
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
            // Of a request that could not be read.
            return context.write(data, promise: promise)
        }
        switch unwrapOutboundIn(data) {
        case .head(var head) where exchange.isOld:
            // The encoder writes chunks for a length that is not known, unless the answer is of HTTP/1.0, too.
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
                // The encoder would end chunks that were never begun.
                writeNothing(context, promise)
            } else {
                context.write(data, promise: promise)
            }
            permit(context)
        }
    }

    /// Asks the client whose turn it is for its body.
    private func permit(_ context: ChannelHandlerContext) {
        guard exchanges.first?.isWaiting == true else { return }
        exchanges[exchanges.startIndex].isWaiting = false
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Completes a promise in its turn.
    private func writeNothing(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?)
    {
        guard promise != nil else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}
