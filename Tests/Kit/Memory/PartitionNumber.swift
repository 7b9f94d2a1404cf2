import Poller

/// The partition of a lane: CRC16 (XMODEM, as Redis Cluster's slots) of its name, modulo.
enum PartitionNumber {
    static func of(_ lane: LaneID, count: Int) -> Int {
        var crc: UInt16 = 0
        for byte in lane.description.utf8 {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return Int(crc) % count
    }
}
