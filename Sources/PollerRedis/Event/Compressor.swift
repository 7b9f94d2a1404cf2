import CZstd
import PollerIdentity
import Synchronization

/// Compresses short texts with a dictionary, on any number of threads (Zstandard, RFC 8878).
///
/// *Problem.* A context of libzstd serves one thread at a time, and making one takes much longer than compressing an
/// event.
///
/// *Approach.* A thread uses the first context that is free, so a process that compresses on one thread has one
/// context. It takes 210 KB from its first use on, after a text of more than 128 KB for a while 800 KB. One for
/// decompression takes 140 KB.
///
/// *Shape*: one frame without its magic number. It has no checksum, no ID of a dictionary and no length of the text,
/// because the entries that contain it name their own dictionary and length.
///
/// *Rejected*: zlib with the same text as its dictionary. An event took three times as long to compress and to
/// decompress, and 7 % more bytes (752 events of the end-to-end tests: 20 µs and 205 bytes instead of 6 µs and 192).
/// deflate sends its codes with each event, and a Zstandard dictionary contains them.
struct Compressor: Sendable {
    /// Level 3 takes half the time and 15 % more bytes, level 5 twice the time and as many bytes.
    static let level: CInt = 4
    /// More threads hardly ever compress or decompress at the same time, because an event takes 6 µs and 2 µs, and the
    /// longest text 3 ms and 1 ms.
    ///
    /// They wait for the first context.
    private static let contextsMax = 8
    /// The first bytes of each frame.
    private static let magicNumber: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    private let compression: [Shared<CompressionContext>]
    private let decompression: [Shared<DecompressionContext>]

    /// Creates a compressor that reads its dictionary when it is first used.
    ///
    /// `head` is the beginning of the dictionary in Base64, see ``EventDictionary/head``; `text` is the rest.
    init(head: String, text: String) {
        guard let head = Base64URL.decode(head) else { preconditionFailure("a constant of ours") }
        let dictionary = head + text.utf8
        compression = (0..<Self.contextsMax).map { _ in Shared(CompressionContext(dictionary)) }
        decompression = (0..<Self.contextsMax).map { _ in Shared(DecompressionContext(dictionary)) }
    }

    /// Compresses any bytes; `nil` if libzstd reports an error.
    func compress(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let compressed = Shared.useFirstFree(of: compression) { $0.compress(bytes) }
        return compressed?.dropFirst(Self.magicNumber.count)
    }

    /// Decompresses bytes; `nil` unless they are a frame of a text of `count` bytes.
    func decompress(_ bytes: ArraySlice<UInt8>, count: Int) -> [UInt8]? {
        let frame = Self.magicNumber + bytes
        return Shared.useFirstFree(of: decompression) { $0.decompress(frame, count: count) }
    }
}

/// A value for one thread at a time.
private final class Shared<Value: ~Copyable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: consuming sending Value) {
        self.value = Mutex(value)
    }

    /// Uses the first of several values that no other thread uses; if all are in use, it waits for the first one.
    static func useFirstFree(
        of all: [Shared],
        _ use: (inout Value) -> [UInt8]?
    ) -> [UInt8]? {
        for one in all {
            if let result = one.value.withLockIfAvailable({ use(&$0) }) { return result }
        }
        return all.first?.value.withLock { use(&$0) }
    }
}

/// The owner of a C object, which it never exposes, hence `@safe`.
@safe
private struct CompressionContext: ~Copyable {
    private let dictionary: [UInt8]
    /// `nil` before the first use, or when there was no memory for it.
    private var object: OpaquePointer?

    init(_ dictionary: [UInt8]) {
        self.dictionary = dictionary
        unsafe object = nil
    }

    deinit { unsafe ZSTD_freeCCtx(object) }

    mutating func compress(_ bytes: [UInt8]) -> [UInt8]? {
        if unsafe object == nil { unsafe object = Self.make(dictionary) }
        guard let object = unsafe object else { return nil }
        return unsafe output(capacity: ZSTD_compressBound(bytes.count)) { target, capacity in
            unsafe bytes.withUnsafeBytes { source in
                unsafe ZSTD_compress2(object, target, capacity, source.baseAddress, source.count)
            }
        }
    }

    private static func make(_ dictionary: [UInt8]) -> OpaquePointer? {
        guard let object = unsafe ZSTD_createCCtx() else { return nil }
        let results = unsafe [
            ZSTD_CCtx_setParameter(object, ZSTD_c_compressionLevel, Compressor.level),
            ZSTD_CCtx_setParameter(object, ZSTD_c_contentSizeFlag, 0),
            ZSTD_CCtx_setParameter(object, ZSTD_c_dictIDFlag, 0),
            dictionary.withUnsafeBytes {
                unsafe ZSTD_CCtx_loadDictionary(object, $0.baseAddress, $0.count)
            },
        ]
        guard results.allSatisfy({ ZSTD_isError($0) == 0 }) else {
            unsafe ZSTD_freeCCtx(object)
            return nil
        }
        return unsafe object
    }
}

/// The owner of a C object, which it never exposes, hence `@safe`.
@safe
private struct DecompressionContext: ~Copyable {
    private let dictionary: [UInt8]
    /// `nil` before the first use, or when there was no memory for it.
    private var object: OpaquePointer?

    init(_ dictionary: [UInt8]) {
        self.dictionary = dictionary
        unsafe object = nil
    }

    deinit { unsafe ZSTD_freeDCtx(object) }

    mutating func decompress(_ frame: [UInt8], count: Int) -> [UInt8]? {
        if unsafe object == nil { unsafe object = Self.make(dictionary) }
        guard let object = unsafe object else { return nil }
        let decompressed = unsafe output(capacity: count) { target, capacity in
            unsafe frame.withUnsafeBytes { source in
                unsafe ZSTD_decompressDCtx(
                    object,
                    target,
                    capacity,
                    source.baseAddress,
                    source.count
                )
            }
        }
        return decompressed?.count == count ? decompressed : nil
    }

    private static func make(_ dictionary: [UInt8]) -> OpaquePointer? {
        guard let object = unsafe ZSTD_createDCtx() else { return nil }
        let result = unsafe dictionary.withUnsafeBytes {
            unsafe ZSTD_DCtx_loadDictionary(object, $0.baseAddress, $0.count)
        }
        guard ZSTD_isError(result) == 0 else {
            unsafe ZSTD_freeDCtx(object)
            return nil
        }
        return unsafe object
    }
}

/// Returns the bytes that a function of libzstd has written; `nil` if it returns an error.
private func output(
    capacity: Int,
    _ write: (UnsafeMutableRawPointer?, Int) -> Int
) -> [UInt8]? {
    var isDone = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
        let written = unsafe write(target.baseAddress, capacity)
        isDone = ZSTD_isError(written) == 0
        count = isDone ? written : 0
    }
    return isDone ? bytes : nil
}
