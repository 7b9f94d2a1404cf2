/// The modules of a QR code during drawing: fixed patterns, then data bits, then a mask.
///
/// *Source*: ISO/IEC 18004:2015, by the number of each section below.
struct QRCanvas {
    let size: Int
    private(set) var dark: [Bool]
    /// Modules that do not depend on the content, which no mask may change.
    private var fixed: [Bool]
    private let version: Int

    /// Draws the patterns of a version, and the data bits.
    init(version: Int, codewords: [UInt8]) {
        self.version = version
        size = version * 4 + 17
        dark = Array(repeating: false, count: size * size)
        fixed = dark
        drawPatterns()
        place(codewords)
    }

    /// Returns the number of data and correction codewords of a version (table 1).
    static func codewordCount(_ version: Int) -> Int {
        var squares = (16 * version + 128) * version + 64
        if version >= 2 {
            let marks = version / 7 + 2
            squares -= (25 * marks - 10) * marks - 55
            if version >= 7 { squares -= 36 }
        }
        return squares / 8
    }

    /// Returns the code with one of the eight masks (§7.8.2), and the format bits that name it.
    func masked(_ mask: Int) -> QRCanvas {
        var canvas = self
        for y in 0..<size {
            for x in 0..<size where !fixed[y * size + x] {
                let flips =
                    switch mask {
                    case 0: (x + y) % 2 == 0
                    case 1: y % 2 == 0
                    case 2: x % 3 == 0
                    case 3: (x + y) % 3 == 0
                    case 4: (x / 3 + y / 2) % 2 == 0
                    case 5: x * y % 2 + x * y % 3 == 0
                    case 6: (x * y % 2 + x * y % 3) % 2 == 0
                    default: ((x + y) % 2 + x * y % 3) % 2 == 0
                    }
                if flips { canvas.dark[y * size + x].toggle() }
            }
        }
        canvas.drawFormat(mask)
        return canvas
    }

    /// The penalty of a code (§7.8.3): long runs, blocks, patterns that look like a corner, and an uneven balance of
    /// shades.
    var penalty: Int {
        var penalty = 0
        for line in 0..<size {
            for squares in [row(line), column(line)] {
                // The last eleven modules, as a number.
                var window = 0
                var run = 0
                for (index, isDark) in squares.enumerated() {
                    run = index > 0 && isDark == squares[index - 1] ? run + 1 : 1
                    if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
                    window = (window << 1 | (isDark ? 1 : 0)) & 0x7FF
                    let isCorner = window == 0b101_1101_0000 || window == 0b000_0101_1101
                    if index >= 10, isCorner { penalty += 40 }
                }
            }
        }
        for y in 1..<size {
            for x in 1..<size {
                let shade = dark[y * size + x]
                let isBlock =
                    shade == dark[y * size + x - 1] && shade == dark[(y - 1) * size + x]
                    && shade == dark[(y - 1) * size + x - 1]
                if isBlock { penalty += 3 }
            }
        }
        let share = dark.count(where: { $0 }) * 100 / dark.count
        return penalty + (share < 50 ? 50 - share : share - 50) / 5 * 10
    }

    private func row(_ y: Int) -> [Bool] { Array(dark[y * size..<(y + 1) * size]) }

    private func column(_ x: Int) -> [Bool] { (0..<size).map { dark[$0 * size + x] } }

    private mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
        dark[y * size + x] = isDark
        fixed[y * size + x] = true
    }

    // MARK: - Fixed patterns

    private mutating func drawPatterns() {
        for index in 0..<size {
            // Timing (§6.3.5).
            set(6, index, index % 2 == 0)
            set(index, 6, index % 2 == 0)
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
            square(around: x, y, reach: 4) { $0 != 2 && $0 != 4 }
        }
        let places = alignments
        for y in places {
            for x in places {
                // Not at the corners.
                let isCorner =
                    (x == 6 && (y == 6 || y == size - 7)) || (x == size - 7 && y == 6)
                if !isCorner { square(around: x, y, reach: 2) { $0 != 1 } }
            }
        }
        // Reserves the area, which the mask draws later.
        drawFormat(0)
        drawVersion()
    }

    private mutating func square(
        around x: Int,
        _ y: Int,
        reach: Int,
        isDark: (_ distance: Int) -> Bool
    ) {
        for down in -reach...reach {
            for right in -reach...reach {
                let (column, line) = (x + right, y + down)
                guard (0..<size).contains(column), (0..<size).contains(line) else { continue }
                set(column, line, isDark(max(right, -right, down, -down)))
            }
        }
    }

    /// The positions of alignment patterns, in both directions (annex E).
    private var alignments: [Int] {
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
        return [6] + (0..<count - 1).reversed().map { size - 7 - $0 * step }
    }

    /// Draws the format: level M, which is 00, and the mask (§7.9).
    private mutating func drawFormat(_ mask: Int) {
        var rest = mask
        for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
        let word = (mask << 10 | rest) ^ 0x5412
        func bit(_ index: Int) -> Bool { word >> index & 1 == 1 }
        for index in 0..<6 { set(8, index, bit(index)) }
        set(8, 7, bit(6))
        set(8, 8, bit(7))
        set(7, 8, bit(8))
        for index in 9..<15 { set(14 - index, 8, bit(index)) }
        for index in 0..<8 { set(size - 1 - index, 8, bit(index)) }
        for index in 8..<15 { set(8, size - 15 + index, bit(index)) }
        set(8, size - 8, true)
    }

    /// Draws the version number, from version 7 on (§7.10).
    private mutating func drawVersion() {
        guard version >= 7 else { return }
        var rest = version
        for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1F25 }
        let word = version << 12 | rest
        for index in 0..<18 {
            let isDark = word >> index & 1 == 1
            set(size - 11 + index % 3, index / 3, isDark)
            set(index / 3, size - 11 + index % 3, isDark)
        }
    }

    // MARK: - Bits

    /// Places the codewords up and down in columns of two, from the right (§7.7.3).
    ///
    /// Remaining modules stay light.
    private mutating func place(_ codewords: [UInt8]) {
        var index = 0
        var right = size - 1
        while right >= 1 {
            // The column of the timing pattern is skipped.
            if right == 6 { right = 5 }
            let isUpward = (right + 1) & 2 == 0
            for step in 0..<size {
                let y = isUpward ? size - 1 - step : step
                for x in [right, right - 1]
                where !fixed[y * size + x] && index < codewords.count * 8 {
                    dark[y * size + x] = codewords[index >> 3] >> (7 - index & 7) & 1 == 1
                    index += 1
                }
            }
            right -= 2
        }
    }
}
