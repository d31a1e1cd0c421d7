// The same from Rust, through the C interface: rustc alone builds it, without a crate.
//   predict_rs net.pt
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::null_mut;

#[repr(C)]
struct Program(c_void);
#[repr(C)]
struct Tensor(c_void);
const FLOAT32: c_int = 11; // torch_dtype

extern "C" {
    fn torch_last_error() -> *const c_char;
    fn torch_from_memory(
        data: *mut c_void,
        ndim: c_int,
        sizes: *const i64,
        strides: *const i64,
        dtype: c_int,
        deleter: Option<extern "C" fn(*mut c_void)>,
        context: *mut c_void,
        out: *mut *mut Tensor,
    ) -> c_int;
    fn torch_numel(tensor: *const Tensor) -> i64;
    fn torch_data(tensor: *const Tensor) -> *const c_void;
    fn torch_release(tensor: *mut Tensor);
    fn torch_program_load(path: *const c_char, out: *mut *mut Program) -> c_int;
    fn torch_program_release(program: *mut Program);
    fn torch_program_signature(program: *const Program, method: *const c_char) -> *const c_char;
    fn torch_program_run_tensors(
        program: *const Program,
        method: *const c_char,
        arguments: *const *mut Tensor,
        count: c_int,
        out: *mut *mut Tensor,
        capacity: c_int,
        out_count: *mut c_int,
    ) -> c_int;
}

fn check(status: c_int) -> Result<(), String> {
    match status {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(torch_last_error()) }.to_string_lossy().into_owned()),
    }
}

/// A loaded program, released when it goes.
struct Net(*mut Program);

impl Net {
    fn load(path: &str) -> Result<Net, String> {
        let (path, mut program) = (CString::new(path).map_err(|e| e.to_string())?, null_mut());
        check(unsafe { torch_program_load(path.as_ptr(), &mut program) })?;
        Ok(Net(program))
    }

    fn signature(&self, method: &CStr) -> String {
        let text = unsafe { torch_program_signature(self.0, method.as_ptr()) };
        if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
    }

    /// Rows of `width` numbers in, the numbers of the first tensor of the result out.
    fn forward(&self, numbers: &mut [f32], width: usize) -> Result<Vec<f32>, String> {
        let sizes = [(numbers.len() / width) as i64, width as i64];
        let (mut x, mut y) = (null_mut(), null_mut());
        unsafe {
            let data = numbers.as_mut_ptr() as *mut c_void;
            check(torch_from_memory(data, 2, sizes.as_ptr(), std::ptr::null(), FLOAT32, None, null_mut(), &mut x))?;
            let status = torch_program_run_tensors(self.0, c"forward".as_ptr(), &x, 1, &mut y, 1, null_mut());
            torch_release(x);
            check(status)?;
            let data = std::slice::from_raw_parts(torch_data(y) as *const f32, torch_numel(y) as usize).to_vec();
            torch_release(y);
            Ok(data)
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        unsafe { torch_program_release(self.0) }
    }
}

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("usage: predict_rs ARCHIVE")?;
    let net = Net::load(&path)?;
    println!("{}", net.signature(c"forward"));
    let mut picture: Vec<f32> = (0..64).map(|i| i as f32 / 63.0).collect();
    let scores = net.forward(&mut picture, 64)?;
    println!("{}", scores.iter().map(|s| format!("{s:.4}")).collect::<Vec<_>>().join(" "));
    Ok(())
}
