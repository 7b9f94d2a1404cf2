import PollerLocalization

/// A QR code of a text: its dark and light modules.
///
/// *Approach*: one mode (bytes, as UTF-8) and one error correction level, in the smallest version that holds the text.
/// At level M, a seventh of the code may be lost. Banks require that for transfer codes, and every reader supports it.
/// Other modes would save a few modules for digits only. ``QRCanvas`` places the bits, and ``ReedSolomon`` computes the
/// correction.
/// *Source*: ISO/IEC 18004:2015, by the number of each table or section below.
struct QRCode: Hashable, Sendable {
    /// The maximum text length: version 20, 97 modules wide, which a phone can still read from another phone's screen.
    static let bytesMax = capacity(20)

    /// The modules per side, without the quiet zone.
    let size: Int
    private let dark: [Bool]

    /// Creates the code of a text; `nil` if the text is too long.
    ///
    /// `mask` is one of the eight mask patterns; `nil` selects the one with the lowest penalty.
    init?(_ text: String, mask: Int? = nil) {
        let bytes = Array(text.utf8)
        guard let version = (1...20).first(where: { bytes.count <= Self.capacity($0) }) else {
            return nil
        }
        let plain = QRCanvas(version: version, codewords: Self.codewords(bytes, version: version))
        let masks = mask.map { $0...$0 } ?? 0...7
        let drawn = masks.map { plain.masked($0) }
        guard let best = drawn.min(by: { $0.penalty < $1.penalty }) else { return nil }
        size = best.size
        dark = best.dark
    }

    /// Returns whether the module at a column and a row is dark.
    subscript(_ x: Int, _ y: Int) -> Bool { dark[y * size + x] }

    /// Returns the code as an image for a page, with the quiet zone of four modules that §5.3.8 requires.
    ///
    /// It is always dark on light, as readers expect.
    func svg(label: String) -> String {
        var path = ""
        for y in 0..<size {
            var x = 0
            while x < size {
                guard self[x, y] else {
                    x += 1
                    continue
                }
                let start = x
                while x < size, self[x, y] { x += 1 }
                path += "M\(start + 4) \(y + 4)h\(x - start)v1h-\(x - start)z"
            }
        }
        let side = size + 8
        return "<svg id=\"code\" role=\"img\" aria-label=\"\(HTMLText.escaped(label))\" "
            + "viewBox=\"0 0 \(side) \(side)\" shape-rendering=\"crispEdges\">"
            + "<path fill=\"#fff\" d=\"M0 0h\(side)v\(side)h-\(side)z\"/>"
            + "<path fill=\"#000\" d=\"\(path)\"/></svg>"
    }

    // MARK: - Bits

    /// The number of correction codewords in a block of level M, by version (table 9).
    private static let correction = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
    ]
    /// The number of blocks of level M, by version (table 9).
    private static let blocks = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16]

    /// Returns the text bytes that a version holds: its data without mode and count (§7.4.1).
    private static func capacity(_ version: Int) -> Int {
        dataCount(version) - (version < 10 ? 2 : 3)
    }

    private static func dataCount(_ version: Int) -> Int {
        QRCanvas.codewordCount(version) - correction[version - 1] * blocks[version - 1]
    }

    /// Returns the text with its correction, in placement order (§7.4 to §7.6).
    private static func codewords(_ bytes: [UInt8], version: Int) -> [UInt8] {
        // Mode 0100, then the byte count. Each part is a multiple of four bits, so nibbles are enough.
        var nibbles: [UInt8] = [4]
        let count = version < 10 ? [bytes.count] : [bytes.count >> 8, bytes.count & 255]
        for byte in count.map({ UInt8(truncatingIfNeeded: $0) }) + bytes {
            nibbles += [byte >> 4, byte & 15]
        }
        nibbles.append(0)
        var data = stride(from: 0, to: nibbles.count, by: 2).map {
            nibbles[$0] << 4 | nibbles[$0 + 1]
        }
        let wanted = dataCount(version)
        var pad: UInt8 = 0xEC
        while data.count < wanted {
            data.append(pad)
            pad ^= 0xEC ^ 0x11
        }

        let blockCount = blocks[version - 1]
        let code = ReedSolomon(degree: correction[version - 1])
        let short = wanted / blockCount
        let shortBlocks = blockCount - wanted % blockCount
        var parts: [(data: [UInt8], correction: [UInt8])] = []
        var start = 0
        for block in 0..<blockCount {
            let end = start + short + (block < shortBlocks ? 0 : 1)
            let part = Array(data[start..<end])
            parts.append((part, code.remainder(of: part)))
            start = end
        }
        // The first codeword of each block, then the second of each. Long blocks have one more.
        var placed: [UInt8] = []
        for index in 0...short {
            for part in parts where index < part.data.count { placed.append(part.data[index]) }
        }
        for index in 0..<correction[version - 1] {
            for part in parts { placed.append(part.correction[index]) }
        }
        return placed
    }
}

/// Computes the Reed–Solomon codewords that let a reader restore a damaged code.
///
/// *Source*: ISO/IEC 18004:2015, §7.5.2 and annex A: the field GF(2⁸) modulo x⁸+x⁴+x³+x²+1.
struct ReedSolomon {
    /// The coefficients of (x−α⁰)(x−α¹)…, from the highest power, without the leading 1.
    private let divisor: [UInt8]

    /// Creates a code with a number of correction codewords.
    init(degree: Int) {
        var divisor = [UInt8](repeating: 0, count: degree)
        divisor[degree - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                let next = index + 1 < degree ? divisor[index + 1] : 0
                divisor[index] = Self.product(divisor[index], root) ^ next
            }
            root = Self.product(root, 2)
        }
        self.divisor = divisor
    }

    /// Returns the remainder of the data, which is its correction.
    func remainder(of data: [UInt8]) -> [UInt8] {
        var rest = [UInt8](repeating: 0, count: divisor.count)
        for byte in data {
            let factor = byte ^ rest.removeFirst()
            rest.append(0)
            for index in rest.indices { rest[index] ^= Self.product(divisor[index], factor) }
        }
        return rest
    }

    private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
        var product = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) * 0x11D
            product ^= Int(truncatingIfNeeded: b >> bit & 1) * Int(truncatingIfNeeded: a)
        }
        return UInt8(truncatingIfNeeded: product)
    }
}
