import CHiredis
import NIOCore

extension RedisCommand {
    /// What RESP adds to an argument at most: `$`, a length of up to 10 digits and two line ends.
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
        guard total <= min(bytesMax, Int(Int32.max)) - buffer.readableBytes else { return false }
        Self.format(bytes, lengths, into: &buffer)
        return true
    }

    /// Cuts `bytes` at `lengths` and lets hiredis frame the pieces.
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
                Int32(lengths.count),
                &pointers,
                lengths
            )
            guard count >= 0, let formatted = unsafe formatted else {
                preconditionFailure("out of memory: hiredis cannot format a command")
            }
            defer { unsafe redisFreeCommand(formatted) }
            unsafe buffer.writeBytes(
                UnsafeRawBufferPointer(start: formatted, count: Int(count))
            )
        }
    }
}
