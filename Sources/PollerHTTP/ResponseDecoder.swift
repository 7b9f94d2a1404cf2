import NIOCore
import NIOHTTP1

/// NIO's decoder of answers, a count of what it was given, and the repairs of a ``ResponseHead``.
///
/// The decoder takes the beginning of an unasked second answer silently; ``isBetweenResponses(_:)`` says
/// whether it has. It bounds a head but no status line, no 1xx heads and no chunk extensions, and so
/// the connection is told how many bytes came.
///
/// A head is held back until it is whole, and then given to the codec in one piece, repaired where that is needed.
/// The connection is told its status as soon as its first line is whole. What does not begin like HTTP/1 goes to
/// the codec at once, which refuses it.
///
/// A class, as a decoder that observes writes must be one; confined to the event loop of its channel.
final class ResponseDecoder: WriteObservingByteToMessageDecoder {
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart

    /// A head that has not come whole yet.
    private struct PartialHead {
        /// Bytes that hold no end of it.
        var searched = 0
        /// What its first line says, once that is whole.
        var status: Int?
    }

    private let codec: HTTPResponseDecoder
    /// Which forgets its decoder when it leaves the pipeline.
    private let connection: HTTPConnection
    /// Bytes of the buffer that were counted already: they are held back, or the codec has left them there.
    private var counted = 0
    /// Nil from the end of a head to the next request: the codec reads what comes.
    private var head: PartialHead?

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
        connection.received(byteCount: buffer.readableBytes - counted)
        while head != nil, buffer.readableBytes > 0, try decodeHead(context, &buffer) {}
        if head == nil, buffer.readableBytes > 0 {
            _ = try codec.decode(context: context, buffer: &buffer)
        }
        counted = buffer.readableBytes
        connection.decoded()
        return .needMoreData
    }

    /// Gives a head to the codec once it is whole; false while more of it must come.
    ///
    /// Afterwards there is a ``head`` again only behind a 1xx, which another one follows.
    private func decodeHead(
        _ context: ChannelHandlerContext,
        _ buffer: inout ByteBuffer
    ) throws -> Bool {
        let bytes = buffer.readableBytesView
        guard var begun = head, ResponseHead.mayBegin(bytes) else {
            head = nil
            return true
        }
        if begun.status == nil {
            guard let end = bytes.dropFirst(begun.searched).firstIndex(of: UInt8(ascii: "\n"))
            else {
                head?.searched = bytes.count
                return false
            }
            guard let status = ResponseHead.status(of: bytes[...end]) else {
                head = nil
                return true
            }
            begun.status = status
            connection.received(status: status)
        }
        guard let length = ResponseHead.length(of: bytes, searched: begun.searched) else {
            begun.searched = bytes.count
            head = begun
            return false
        }
        let whole = bytes.prefix(length)
        var text = ResponseHead.repaired(whole) ?? ByteBuffer(whole)
        buffer.moveReaderIndex(forwardBy: length)
        let isInterim = begun.status.map { $0 < 200 && $0 != 101 } ?? false
        head = isInterim ? PartialHead() : nil
        _ = try codec.decode(context: context, buffer: &text)
        return true
    }

    func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        connection.received(byteCount: buffer.readableBytes - counted)
        counted = buffer.readableBytes
        return try codec.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    /// Whether everything that came belongs to answers that are whole.
    ///
    /// The codec is told that nothing more comes, which it takes amiss in the midst of a message and
    /// otherwise has no effect.
    func isBetweenResponses(_ context: ChannelHandlerContext) -> Bool {
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
        if case .head = data { head = PartialHead() }
        codec.write(data: data)
    }

    func decoderAdded(context: ChannelHandlerContext) {
        codec.decoderAdded(context: context)
    }

    func decoderRemoved(context: ChannelHandlerContext) {
        codec.decoderRemoved(context: context)
    }
}
