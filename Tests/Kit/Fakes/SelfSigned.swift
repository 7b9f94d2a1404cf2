import Foundation

/// A self-signed certificate for one name, created by `openssl`.
package struct SelfSigned {
    private let folder: URL
    /// The path of the certificate, in PEM.
    package let certificate: String
    /// The path of its private key, in PEM.
    package let key: String

    /// Creates the files in a temporary folder.
    package init(name: String) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cert-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appendingPathComponent("cert.pem").path
        key = folder.appendingPathComponent("key.pem").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
            "subjectAltName=DNS:\(name)", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }

    /// Removes the files; errors are ignored, so the temporary folder may remain.
    package func remove() {
        try? FileManager.default.removeItem(at: folder)
    }
}
