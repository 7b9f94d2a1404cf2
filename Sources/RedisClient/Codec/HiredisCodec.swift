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
/// hiredis appends the values of a reply to a list in C. The whole text of a reply is copied once, and each bulk
/// string is a part of that copy. Without these, a poll's share of a claim took 80 allocations.
///
/// A class because it owns C memory. It never exposes that memory, hence `@safe`. Used from one
/// event loop only.
@safe
final class RedisReplyDecoder {
    /// The memory of a reply with more bytes of text, or more values, is released after it.
    private static let keptMax = (bytes: 1 << 20, values: 1 << 16)

    /// The memory that hiredis refers to.
    private let shared: UnsafeMutablePointer<chiredis_memory>
    private let reader: UnsafeMutablePointer<redisReader>
    private var inspector: RedisReplyGuard
    private var violation: RedisCodecError?

    init(limits: RedisReplyLimits) {
        unsafe shared = .allocate(capacity: 1)
        unsafe shared.initialize(to: chiredis_memory())
        guard let reader = unsafe chiredis_reader(shared) else {
            preconditionFailure("out of memory: hiredis cannot allocate a reader")
        }
        unsafe self.reader = reader
        self.inspector = RedisReplyGuard(limits: limits)
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe free(shared.pointee.tape.values)
        unsafe free(shared.pointee.tape.text)
        unsafe shared.deallocate()
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
        var token: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &token) == REDIS_OK else {
            throw .malformed(unsafe String(cString: chiredis_reader_error(reader)))
        }
        guard unsafe token != nil else { return nil }
        let tape = unsafe shared.pointee.tape
        defer { releaseTape() }
        var values = unsafe Values(
            list: UnsafeBufferPointer(start: tape.values, count: Int(clamping: tape.count)),
            text: Array(UnsafeRawBufferPointer(start: tape.text, count: Int(clamping: tape.length)))
        )
        return try unsafe values.next()
    }

    /// Empties the tape for the next reply.
    private func releaseTape() {
        unsafe shared.pointee.tape.count = 0
        unsafe shared.pointee.tape.length = 0
        if unsafe shared.pointee.tape.size > Self.keptMax.bytes {
            unsafe free(shared.pointee.tape.text)
            unsafe shared.pointee.tape.text = nil
            unsafe shared.pointee.tape.size = 0
        }
        if unsafe shared.pointee.tape.capacity > Self.keptMax.values {
            unsafe free(shared.pointee.tape.values)
            unsafe shared.pointee.tape.values = nil
            unsafe shared.pointee.tape.capacity = 0
        }
    }

    /// The values of a complete reply, read one after the other.
    @unsafe private struct Values {
        let list: UnsafeBufferPointer<chiredis_value>
        /// The texts of all values.
        let text: [UInt8]
        private var index = 0
        private var position = 0

        init(list: UnsafeBufferPointer<chiredis_value>, text: [UInt8]) {
            unsafe self.list = unsafe list
            unsafe self.text = text
        }

        /// Returns the next value with its elements.
        ///
        /// ``RedisReplyGuard`` bounds its depth.
        mutating func next() throws(RedisCodecError) -> RedisValue {
            guard unsafe index < list.count else {
                throw .malformed("an array with a missing element")
            }
            let value = unsafe list[index]
            unsafe index += 1
            switch value.type {
            case REDIS_REPLY_STRING: return unsafe .slice(takeText(value.number))
            case REDIS_REPLY_STATUS:
                return unsafe .simpleString(String(decoding: takeText(value.number), as: UTF8.self))
            case REDIS_REPLY_ERROR:
                let line = unsafe String(decoding: takeText(value.number), as: UTF8.self)
                return .error(RedisReplyError(line: line))
            case REDIS_REPLY_INTEGER: return .integer(value.number)
            case REDIS_REPLY_NIL: return .null
            case REDIS_REPLY_ARRAY:
                var elements: [RedisValue] = []
                let count = Int(clamping: value.number)
                elements.reserveCapacity(count)
                for _ in 0..<count { unsafe elements.append(try next()) }
                return .array(elements)
            default: throw .malformed("a reply of unknown type")
            }
        }

        private mutating func takeText(_ length: Int64) -> ArraySlice<UInt8> {
            let start = unsafe position
            unsafe position += Int(clamping: length)
            return unsafe text[start..<position]
        }
    }
}
