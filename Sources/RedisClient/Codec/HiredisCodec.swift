import CHiredis
import NIOCore

extension RedisCommand {
    /// The most bytes that RESP adds to an argument: `$`, a length of up to 10 digits and two line
    /// ends.
    private static let framingBytesMax = 15

    /// Appends the command as RESP, formatted by hiredis.
    ///
    /// Returns `false`, and appends nothing, if that could make `buffer` longer than `bytesMax`.
    /// The limit also keeps hiredis 0.14 from overflowing its `int` lengths.
    func encode(into buffer: inout ByteBuffer, bytesMax: Int) -> Bool {
        var bytes: [UInt8] = []
        var lengths: [Int] = []
        lengths.reserveCapacity(arguments.count + 1)
        bytes.append(contentsOf: name.utf8)
        lengths.append(bytes.count)
        for argument in arguments {
            lengths.append(argument.append(to: &bytes))
        }
        let total = bytes.count + Self.framingBytesMax * (lengths.count + 1)
        guard total <= min(bytesMax, Int(clamping: Int32.max)) - buffer.readableBytes else {
            return false
        }
        Self.format(bytes, lengths, into: &buffer)
        return true
    }

    /// Splits `bytes` into arguments of the given `lengths` and lets hiredis format them.
    private static func format(
        _ bytes: [UInt8],
        _ lengths: [Int],
        into buffer: inout ByteBuffer
    ) {
        unsafe bytes.withUnsafeBytes { raw in
            var position = unsafe raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            var pointers: [UnsafePointer<CChar>?] = unsafe []
            unsafe pointers.reserveCapacity(lengths.count)
            for length in lengths {
                unsafe pointers.append(position)
                unsafe position = position?.advanced(by: length)
            }
            var formatted: UnsafeMutablePointer<CChar>?
            let count = unsafe chiredis_format_command(
                &formatted,
                Int32(clamping: lengths.count),
                &pointers,
                lengths
            )
            guard count >= 0, let formatted = unsafe formatted else {
                preconditionFailure("out of memory: hiredis cannot format a command")
            }
            defer { unsafe redisFreeCommand(formatted) }
            unsafe buffer.writeBytes(
                UnsafeRawBufferPointer(start: formatted, count: Int(clamping: count))
            )
        }
    }
}

/// Decodes the bytes of one connection into replies, with hiredis as the parser.
///
/// A class because it owns a C object. It never exposes that object, hence `@safe`. Used from one
/// event loop only.
@safe
final class RedisReplyDecoder {
    private let reader: UnsafeMutablePointer<redisReader>
    private var inspector: RedisReplyGuard
    private var violation: RedisCodecError?

    init(limits: RedisReplyLimits) {
        guard let reader = unsafe redisReaderCreate() else {
            preconditionFailure("out of memory: hiredis cannot allocate a reader")
        }
        unsafe self.reader = reader
        self.inspector = RedisReplyGuard(limits: limits)
    }

    deinit {
        unsafe redisReaderFree(reader)
    }

    /// Decodes the next bytes and calls `body` for each reply that is complete.
    ///
    /// Replies that precede a protocol violation are passed to `body` first. Then the violation is
    /// thrown, and every later call throws it again.
    func decode(
        _ buffer: ByteBuffer,
        _ body: (RedisValue) -> Void
    ) throws(RedisCodecError) {
        if let violation { throw violation }
        let verdict = unsafe buffer.withUnsafeReadableBytes { bytes in
            let verdict = unsafe inspector.inspect(bytes)
            if verdict.accepted > 0 {
                unsafe redisReaderFeed(
                    reader,
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                    verdict.accepted
                )
            }
            return verdict
        }
        do throws(RedisCodecError) {
            while let value = try next() { body(value) }
            if let violation = verdict.violation { throw violation }
        } catch {
            violation = error
            throw error
        }
    }

    /// Returns the next complete reply, or `nil` if more bytes are needed.
    private func next() throws(RedisCodecError) -> RedisValue? {
        var raw: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &raw) == REDIS_OK else {
            throw .malformed(unsafe String(cString: chiredis_reader_error(reader)))
        }
        guard let raw = unsafe raw else { return nil }
        defer { unsafe freeReplyObject(raw) }
        return try unsafe Self.value(raw.assumingMemoryBound(to: redisReply.self))
    }

    /// Copies the reply tree of hiredis.
    ///
    /// ``RedisReplyGuard`` bounds its depth.
    private static func value(
        _ pointer: UnsafePointer<redisReply>
    ) throws(RedisCodecError) -> RedisValue {
        switch unsafe pointer.pointee.type {
        case REDIS_REPLY_STRING: return unsafe .bulk(Array(text(pointer)))
        case REDIS_REPLY_STATUS:
            return unsafe .simpleString(String(decoding: text(pointer), as: UTF8.self))
        case REDIS_REPLY_ERROR:
            let line = unsafe String(decoding: text(pointer), as: UTF8.self)
            return .error(RedisReplyError(line: line))
        case REDIS_REPLY_INTEGER: return unsafe .integer(pointer.pointee.integer)
        case REDIS_REPLY_NIL: return .null
        case REDIS_REPLY_ARRAY:
            var elements: [RedisValue] = []
            let count = unsafe Int(clamping: pointer.pointee.elements)
            elements.reserveCapacity(count)
            for index in 0..<count {
                guard let element = unsafe pointer.pointee.element[index] else {
                    throw .malformed("an array with a missing element")
                }
                unsafe elements.append(try value(element))
            }
            return .array(elements)
        default: throw .malformed("a reply of unknown type")
        }
    }

    private static func text(_ pointer: UnsafePointer<redisReply>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            start: pointer.pointee.str,
            count: Int(clamping: pointer.pointee.len)
        )
    }
}
