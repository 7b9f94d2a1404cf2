import NIOCore

/// The gzip format without compression, which tests a client's decoder without zlib in the server.
///
/// *Source*: RFC 1952 (members), RFC 1951 §3.2.4 (stored blocks).
enum Gzip {
    /// The maximum size of a stored block.
    private static let blockMax = 65_535

    /// Returns a gzip member with the readable bytes.
    static func member(of body: ByteBuffer) -> ByteBuffer {
        let bytes = Array(body.readableBytesView)
        var buffer = ByteBuffer()
        // Deflate, no flags, no time, no extra flags, unknown system.
        buffer.writeBytes([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
        var start = 0
        repeat {
            let end = min(start + blockMax, bytes.count)
            let count = UInt16(truncatingIfNeeded: end - start)
            buffer.writeInteger(end == bytes.count ? 1 as UInt8 : 0)
            buffer.writeInteger(count, endianness: .little)
            buffer.writeInteger(~count, endianness: .little)
            buffer.writeBytes(bytes[start..<end])
            start = end
        } while start < bytes.count
        buffer.writeInteger(checksum(of: bytes), endianness: .little)
        buffer.writeInteger(UInt32(truncatingIfNeeded: bytes.count), endianness: .little)
        return buffer
    }

    /// Computes the CRC-32 of RFC 1952 §8 bit by bit.
    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes {
            crc ^= UInt32(truncatingIfNeeded: byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
