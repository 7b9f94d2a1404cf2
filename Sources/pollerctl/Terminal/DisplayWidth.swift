/// The width of text in terminal columns.
///
/// Terminals draw Chinese, Japanese and Korean characters and most emoji two columns wide. Combining marks take no
/// column.
///
/// *Source*: Unicode Standard Annex 11, East Asian Width: characters with `W` or `F` are two columns wide.
extension StringProtocol {
    /// The width of the whole text.
    var columns: Int {
        // The fast path for ASCII.
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns }
    }

    /// The longest prefix that fits in so many columns.
    func prefix(columns most: Int) -> SubSequence {
        var left = most
        return prefix { character in
            left -= character.columns
            return left >= 0
        }
    }
}

extension Character {
    /// 0 for combining and format characters, 2 for wide ones, 1 for all others.
    var columns: Int {
        guard let first = unicodeScalars.first, !isASCII else { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Variation selector 16 turns any emoji into a picture.
        let isPicture =
            first.properties.isEmojiPresentation || unicodeScalars.contains { $0.value == 0xFE0F }
        return isPicture || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// Letters and signs with East Asian Width W or F in Unicode 16; emoji have their own property.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
        0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
