import NIOCore
import NIOHTTP1

/// NIO's decoder of answers, and a count of what it was given.
///
/// The decoder takes the beginning of an unasked second answer silently; ``isBetweenAnswers(_:)`` says
/// whether it has. It bounds a head but no status line, no 1xx heads and no chunk extensions, and so
/// the connection is told how many bytes came.
///
/// A class, as a decoder that observes writes must be one; confined to the event loop of its channel.
final class ResponseDecoder: WriteObservingByteToMessageDecoder {
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart

    private let codec: HTTPResponseDecoder
    /// Which forgets its decoder when it leaves the pipeline.
    private let connection: HTTPConnection
    /// Bytes of the buffer that were counted already: the codec has left them there.
    private var counted = 0

    init(for connection: HTTPConnection) {
        self.connection = connection
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = ConnectionState.headBytesMax
        limits.maxHeaderFieldSize = ConnectionState.headBytesMax
        codec = HTTPResponseDecoder(
            leftOverBytesStrategy: .dropBytes,
            informationalResponseStrategy: .drop,
            limitConfiguration: limits
        )
    }

    func decode(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer
    ) throws -> DecodingState {
        connection.heard(bytes: buffer.readableBytes - counted)
        let state = try codec.decode(context: context, buffer: &buffer)
        counted = buffer.readableBytes
        connection.decoded()
        return state
    }

    func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        connection.heard(bytes: buffer.readableBytes - counted)
        counted = buffer.readableBytes
        return try codec.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    /// Whether everything that came belongs to answers that are whole.
    ///
    /// The codec is told that nothing more comes, which it takes amiss in the midst of a message and
    /// otherwise has no effect.
    func isBetweenAnswers(_ context: ChannelHandlerContext) -> Bool {
        guard counted == 0 else { return false }
        var nothing = ByteBuffer()
        do {
            _ = try codec.decodeLast(context: context, buffer: &nothing, seenEOF: true)
            return true
        } catch {
            // What it says of a message that was begun is what was asked.
            return false
        }
    }

    func write(data: HTTPClientRequestPart) {
        codec.write(data: data)
    }

    func decoderAdded(context: ChannelHandlerContext) {
        codec.decoderAdded(context: context)
    }

    func decoderRemoved(context: ChannelHandlerContext) {
        codec.decoderRemoved(context: context)
    }
}
