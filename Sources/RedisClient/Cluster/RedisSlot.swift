import NIOCore

/// One of the 16,384 slots that a Redis Cluster spreads its keys over.
///
/// *Source*: the Redis Cluster specification: CRC16 (XMODEM) of the key, or of what stands between
/// its first `{` and the next `}` if that is not empty, modulo 16,384.
enum RedisSlot {
    /// How many there are.
    static let count = 16_384

    /// The slot of a key.
    static func of(_ key: RedisArgument) -> Int {
        switch key {
        case .string(let text): of(text.utf8)
        case .int(let number): of(String(number).utf8)
        case .bytes(let bytes): of(bytes)
        case .buffer(let buffer): of(buffer.readableBytesView)
        }
    }

    /// The slot of a key.
    static func of(_ key: some BidirectionalCollection<UInt8>) -> Int {
        if let open = key.firstIndex(of: UInt8(ascii: "{")) {
            let rest = key[key.index(after: open)...]
            if let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex {
                return Int(checksum(rest[..<close])) % count
            }
        }
        return Int(checksum(key)) % count
    }

    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes { crc = crc << 8 ^ table[Int(UInt8(crc >> 8) ^ byte)] }
        return crc
    }

    /// What each value of the upper byte contributes.
    private static let table: [UInt16] = (0..<256).map { value in
        var crc = UInt16(value) << 8
        for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        return crc
    }
}
