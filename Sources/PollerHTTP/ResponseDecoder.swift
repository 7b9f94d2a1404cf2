import NIOCore
import NIOHTTP1

/// NIO's response decoder with a count of its input and the repairs of ``ResponseHead``.
///
/// NIO's decoder silently accepts the beginning of an unrequested second response;
/// ``isBetweenResponses(_:)`` detects that. It limits a head, but not a status line, the number of
/// 1xx heads or chunk extensions. The connection is therefore notified of the number of bytes.
///
/// A head is buffered until it is complete, and then passed to the codec in one piece, repaired if
/// necessary. The connection is notified of its status as soon as the first line is complete. Bytes
/// that do not begin like HTTP/1 are passed to the codec at once, which rejects them.
///
/// The response to a GET is read without the codec if its head is plain (``PlainHead``). The codec learns of a
/// request only when it is to read the response.
///
/// A class, as required for a decoder that observes writes; confined to the event loop of its
/// channel.
final class ResponseDecoder: WriteObservingByteToMessageDecoder {
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart

    /// A head that is not complete yet.
    private struct PartialHead {
        /// The number of bytes already searched for its end.
        var searched = 0
        /// The status of its first line, once that is complete.
        var status: Int?
    }

    /// The codec uses only the method of a request.
    private static let getHead = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")

    private let codec: HTTPResponseDecoder
    /// The connection, which releases its decoder when it leaves the pipeline.
    private let connection: HTTPConnection
    /// The bytes of the buffer that were already counted: they are buffered here, or the codec has
    /// left them.
    private var counted = 0
    /// `nil` from the end of a head to the next request: bytes go to the codec directly, or belong to a plain body.
    private var head: PartialHead?
    /// Whether a GET was sent that the codec was not informed of.
    private var hasUnknownGet = false
    /// The bytes of a plain body that have not arrived; `nil` when the codec reads the response.
    private var plainBytesLeft: Int?

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
        if head == nil, plainBytesLeft != nil { readPlainBody(&buffer) }
        if head == nil, plainBytesLeft == nil, buffer.readableBytes > 0 {
            introduceGet()
            _ = try codec.decode(context: context, buffer: &buffer)
        }
        counted = buffer.readableBytes
        connection.decoded()
        return .needMoreData
    }

    /// Passes a head to the codec once it is complete; returns `false` while more of it must
    /// arrive.
    ///
    /// Afterwards ``head`` is set again only after a 1xx response, which another head follows.
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
        if hasUnknownGet, let plain = PlainHead(whole) {
            hasUnknownGet = false
            buffer.moveReaderIndex(forwardBy: length)
            head = nil
            plainBytesLeft = plain.length
            connection.received(plain)
            if plain.length == 0 { connection.received(.end(nil)) }
            return true
        }
        introduceGet()
        var text = ResponseHead.repaired(whole) ?? ByteBuffer(whole)
        buffer.moveReaderIndex(forwardBy: length)
        let isInterim = begun.status.map { $0 < 200 && $0 != 101 } ?? false
        head = isInterim ? PartialHead() : nil
        _ = try codec.decode(context: context, buffer: &text)
        return true
    }

    /// Passes the bytes of a plain body to the connection, and its end.
    ///
    /// Bytes after the end stay in the buffer for the codec, which rejects them as an unrequested response.
    private func readPlainBody(_ buffer: inout ByteBuffer) {
        guard let left = plainBytesLeft, buffer.readableBytes > 0 else { return }
        if left > 0, let part = buffer.readSlice(length: min(left, buffer.readableBytes)) {
            plainBytesLeft = left - part.readableBytes
            connection.received(.body(part))
            if plainBytesLeft == 0 { connection.received(.end(nil)) }
        }
        if buffer.readableBytes > 0 { plainBytesLeft = nil }
    }

    /// Informs the codec of a GET, because it must read the response.
    private func introduceGet() {
        guard hasUnknownGet else { return }
        hasUnknownGet = false
        codec.write(data: .head(Self.getHead))
    }

    func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        connection.received(byteCount: buffer.readableBytes - counted)
        counted = buffer.readableBytes
        introduceGet()
        return try codec.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    /// Returns whether all bytes belong to complete responses.
    ///
    /// The codec is given an end of input, which is an error only in the middle of a message and
    /// has no effect otherwise.
    func isBetweenResponses(_ context: ChannelHandlerContext) -> Bool {
        guard counted == 0 else { return false }
        if let plainBytesLeft { return plainBytesLeft == 0 }
        var nothing = ByteBuffer()
        do {
            _ = try codec.decodeLast(context: context, buffer: &nothing, seenEOF: true)
            return true
        } catch {
            // The error itself is the answer: a message is incomplete.
            return false
        }
    }

    func write(data: HTTPClientRequestPart) {
        if case .head = data {
            head = PartialHead()
            plainBytesLeft = nil
        }
        codec.write(data: data)
    }

    /// Prepares for the response to a GET or POST that the connection wrote without this handler.
    ///
    /// The codec uses only the method of a request, and treats these two alike.
    func expectResponse() {
        head = PartialHead()
        hasUnknownGet = true
        plainBytesLeft = nil
    }

    func decoderAdded(context: ChannelHandlerContext) {
        codec.decoderAdded(context: context)
    }

    func decoderRemoved(context: ChannelHandlerContext) {
        codec.decoderRemoved(context: context)
    }
}
