/// CRC16-XMODEM, the checksum Redis Cluster maps keys to slots with (Redis Cluster
/// specification, appendix A): polynomial 0x1021, initial value 0.
enum CRC16 {
    private static let table: [UInt16] = (0..<256).map { index in
        var value = UInt16(index) << 8
        for _ in 0..<8 {
            value = value & 0x8000 != 0 ? value << 1 ^ 0x1021 : value << 1
        }
        return value
    }

    /// The checksum; `123456789` has 0x31C3.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in
            crc << 8 ^ table[Int((crc >> 8) ^ UInt16(byte))]
        }
    }
}
