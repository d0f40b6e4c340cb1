//! Owns reading Linux's kernel out of the EFI program that unpacks itself, which QEMU 10.0.2 does not unpack.
//!
//! The layout is Linux's `drivers/firmware/efi/libstub/zboot-header.S`: "MZ", "zimg" at 4, the payload's offset and size
//! as 32-bit words at 8 and 12, the compression's name at 24.

use miette::{IntoDiagnostic, Result, WrapErr, miette};
use ruzstd::decoding::StreamingDecoder;

const SIGNATURE: (usize, &[u8]) = (4, b"zimg");
const PAYLOAD_OFFSET: usize = 8;
const PAYLOAD_SIZE: usize = 12;
const COMPRESSION: (usize, &[u8]) = (24, b"zstd");

/// Returns the kernel in a file of the kernel's package: unpacked if it is packed, else as it is.
///
/// # Errors
/// It is packed otherwise, or its header or payload is wrong.
pub(crate) fn kernel(file: Vec<u8>) -> Result<Vec<u8>> {
    let has = |(offset, text): (usize, &[u8])| file.get(offset..).is_some_and(|rest| rest.starts_with(text));
    if !has(SIGNATURE) {
        return Ok(file);
    }
    if !has(COMPRESSION) {
        return Err(miette!("the kernel's payload is not packed with zstd"));
    }
    let payload =
        payload(&file).ok_or_else(|| miette!("the kernel's header names a payload outside the file"))?;
    let mut kernel = Vec::new();
    let mut decoder = StreamingDecoder::new(payload).into_diagnostic()?;
    std::io::Read::read_to_end(&mut decoder, &mut kernel)
        .into_diagnostic()
        .wrap_err("the kernel's payload cannot be unpacked")?;
    Ok(kernel)
}

fn payload(file: &[u8]) -> Option<&[u8]> {
    let offset = usize::try_from(word(file, PAYLOAD_OFFSET)?).ok()?;
    let size = usize::try_from(word(file, PAYLOAD_SIZE)?).ok()?;
    file.get(offset..offset.checked_add(size)?)
}

fn word(file: &[u8], offset: usize) -> Option<u32> {
    let bytes = file.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kernel` packed by `zstd`: one raw block.
    const PACKED: &[u8] =
        &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x06, 0x31, 0x00, 0x00, b'k', b'e', b'r', b'n', b'e', b'l'];

    fn file(offset: u32, size: u32) -> Vec<u8> {
        let mut file = b"MZ\0\0zimg".to_vec();
        file.extend(offset.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.extend([0; 8]);
        file.extend(b"zstd\0\0\0\0");
        file.extend(PACKED);
        file
    }

    #[test]
    fn the_payload_is_unpacked() {
        let size = u32::try_from(PACKED.len()).unwrap();
        assert_eq!(kernel(file(32, size)).unwrap(), b"kernel");
    }

    #[test]
    fn an_unpacked_kernel_stays_as_it_is() {
        let plain = b"MZ and a kernel".to_vec();
        assert_eq!(kernel(plain.clone()).unwrap(), plain);
    }

    #[test]
    fn a_wrong_header_is_refused() {
        assert!(kernel(file(32, 1000)).is_err());
        assert!(kernel(file(u32::MAX, u32::MAX)).is_err());
        assert!(kernel(file(33, 10)).is_err());
        let mut other = file(32, 10);
        other.get_mut(24..28).unwrap().copy_from_slice(b"gzip");
        assert!(kernel(other).unwrap_err().to_string().contains("zstd"));
    }
}
